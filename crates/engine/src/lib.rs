//! The OS clock, worker threads, epoll, connections and TLS.
