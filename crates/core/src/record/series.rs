//! Which distributions every run keeps.

/// The distributions that every run keeps. Of arrivals, only those of the measured part enter them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Series {
    /// Intended start to last byte, of `ok` arrivals: what a user feels.
    Response,
    /// Send to last byte, of `ok` arrivals: what a closed loop would have shown.
    Service,
    /// Ages, from the intended start, of arrivals known only to take longer.
    ResponseCensored,
    /// Ages, from the send, of arrivals that were sent and are known only to take longer.
    ServiceCensored,
    /// Intended start to the first event, of answers that come event by event.
    FirstEvent,
    /// Ages, from the intended start, of arrivals whose first event is known only to take longer.
    FirstEventCensored,
    /// One event of an answer to the next.
    EventGap,
    /// The same of gaps that are known only to be longer: they were open when nobody waited any more.
    EventGapCensored,
    /// Intended start to failure, of failed arrivals.
    Failed,
    /// Intended start to send, of every sent arrival.
    SendLag,
    /// The part of the send lag that the generator itself caused.
    GeneratorLate,
    /// Opening a connection, TCP only; every connection of the run.
    Connect,
    /// TLS handshake; every connection of the run.
    Tls,
    /// Send to first byte of the answer, of `ok` arrivals.
    FirstByte,
    /// First to last byte of the answer, of `ok` arrivals.
    Transfer,
    /// Response times, and ages of the censored, to which the generator's own absence and lateness added 1 ms or more.
    Hindered,
    /// The same less what it added: no less than that is the target's.
    Unhindered,
    /// Send to the first event.
    FirstEventService,
    /// Ages, from the send, of arrivals whose first event is known only to take longer.
    FirstEventServiceCensored,
    /// Those of `FirstEvent` to which the generator's own absence and lateness added 1 ms or more.
    FirstEventHindered,
    /// Those of `EventGap` in which the generator was away for 1 ms or more.
    EventGapHindered,
}

impl Series {
    /// Every series, in the order of its place.
    pub const ALL: [Series; 21] = [
        Series::Response,
        Series::Service,
        Series::ResponseCensored,
        Series::ServiceCensored,
        Series::FirstEvent,
        Series::FirstEventCensored,
        Series::EventGap,
        Series::EventGapCensored,
        Series::Failed,
        Series::SendLag,
        Series::GeneratorLate,
        Series::Connect,
        Series::Tls,
        Series::FirstByte,
        Series::Transfer,
        Series::Hindered,
        Series::Unhindered,
        Series::FirstEventService,
        Series::FirstEventServiceCensored,
        Series::FirstEventHindered,
        Series::EventGapHindered,
    ];
    /// Those that are kept by operation, too: the first ones.
    pub const BY_OPERATION: [Series; 8] = match Self::ALL.first_chunk() {
        Some(first) => *first,
        None => panic!("there are more"),
    };
    pub(super) const COUNT: usize = Self::ALL.len();

    /// The stable name, used as a tag in logs: no comma, no space.
    pub fn name(self) -> &'static str {
        match self {
            Series::Response => "response_time",
            Series::Service => "service_time",
            Series::ResponseCensored => "response_time_censored",
            Series::ServiceCensored => "service_time_censored",
            Series::FirstEvent => "first_event",
            Series::FirstEventCensored => "first_event_censored",
            Series::EventGap => "event_gap",
            Series::EventGapCensored => "event_gap_censored",
            Series::Failed => "failed_response_time",
            Series::SendLag => "send_lag",
            Series::GeneratorLate => "generator_late",
            Series::Connect => "connect",
            Series::Tls => "tls",
            Series::FirstByte => "first_byte",
            Series::Transfer => "transfer",
            Series::Hindered => "hindered",
            Series::Unhindered => "unhindered",
            Series::FirstEventService => "first_event_service",
            Series::FirstEventServiceCensored => "first_event_service_censored",
            Series::FirstEventHindered => "first_event_hindered",
            Series::EventGapHindered => "event_gap_hindered",
        }
    }
}
