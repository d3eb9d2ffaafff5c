//! Time, schedules, the dispatcher and the recorder: no OS clock, no socket.
