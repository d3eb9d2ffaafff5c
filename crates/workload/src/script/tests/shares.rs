//! Threads of one run on several machines.

use super::*;

/// `workers` threads from the one with the number `first` on, of four, which are all over.
fn part(source: &str, first: u32, workers: u32) -> Result<Script, ScriptError> {
    opened(source, |opening| {
        (opening.workers, opening.shares) = (workers, WorkerShares { first, of: 4 });
        opening.stops = Stops::Asks;
    })
}

const COUNTS: &str = "local count, last = 0
    base = 10
    function setup(thread)
        count = count + 1
        thread:set('id', count)
        thread:set('before', last and last:get('mark'))
        thread:set('mark', { of = { count } })
        thread:set('drawn', math.random(1e9))
        assert(thread:get('id') == count and thread:get('mark').of[1] == count)
        last = thread
    end
    function init() n = 0 end
    function request()
        n = n + 1
        local mine = before and before.of[1] or 'none'
        return wrk.format(nil, table.concat({ '', base + id, n, mine, drawn, math.random(1e9) }, '/'))
    end";

#[test]
fn threads_are_counted_alike_wherever_they_are() {
    let asked = |script: Script, workers: u32| -> Vec<String> {
        (0..workers as usize)
            .flat_map(|worker| {
                let mut acting = script.take(worker).unwrap();
                (0..3).map(move |_| next(&mut acting)).collect::<Vec<_>>()
            })
            .collect()
    };
    let whole = asked(part(COUNTS, 0, 4).unwrap(), 4);
    assert!(whole[0].starts_with("GET /11/1/none/") && whole[11].starts_with("GET /14/3/3/"), "{whole:?}");
    let parts = [(0, 1), (1, 2), (3, 1)]
        .map(|(first, workers)| asked(part(COUNTS, first, workers).unwrap(), workers));
    assert_eq!(parts.concat(), whole);
}

#[test]
fn of_a_thread_elsewhere_only_what_was_set_is_known() {
    let known = |body: &str| {
        let source = format!("top = 1 local count = 0 function setup(thread) count = count + 1 {body} end");
        part(&source, 2, 1).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(known("if count == 3 then assert(thread:get('top') == 1) end"), Ok(()));
    assert_eq!(known("thread:set('x', nil) assert(thread:get('x') == nil)"), Ok(()));
    // A copy, as that of a thread here.
    assert_eq!(known("local t = { 1 } thread:set('t', t) t[1] = 2 assert(thread:get('t')[1] == 1)"), Ok(()));
    assert_eq!(known("thread.addr = '10.0.0.2:80' assert(thread.addr == '10.0.0.2:80')"), Ok(()));
    for (body, expected) in [
        ("thread:get('top')", "thread:get(\"top\"): this thread is on another machine"),
        ("thread:set('f', print)", "a function can't be handed to a thread"),
        ("thread.addr = 'there'", "expected one of"),
        ("if count == 4 then thread:stop() end", "thread:stop(): this thread is on another machine"),
    ] {
        let error = known(body).unwrap_err();
        assert!(error.starts_with("s.lua:1: ") && error.contains(expected), "{error}");
    }
}

#[test]
fn who_asks_for_the_end_of_all_ends_nothing_alone() {
    let source = "function request() wrk.thread:stop() return wrk.format() end";
    let asks = part(source, 1, 1).unwrap();
    assert!(asks.is_stopped() && !asks.take(0).unwrap().ends_load());
    let refused = opened(source, |opening| {
        (opening.workers, opening.shares, opening.stops) =
            (1, WorkerShares { first: 0, of: 2 }, Stops::Refused);
    });
    assert!(refused.unwrap_err().to_string().contains("the load of this machine alone"));
}

/// Where no thread is, the figures of all can be told all the same.
#[test]
fn done_is_told_of_all_threads_and_knows_none() {
    let source = "local threads = {}
         function setup(thread) threads[#threads + 1] = thread thread:set('heard', 0) end
         function done(summary)
            assert(#threads == 4)
            if summary.requests > 1 then return threads[1]:get('heard') end
         end";
    let script = part(source, 0, 0).unwrap();
    assert!(script.wants_figures() && script.take(0).is_none());
    assert_eq!(script.done(&Figures { requests: 1, ..Figures::default() }), Ok(()));
    let error = script.done(&Figures { requests: 2, ..Figures::default() }).unwrap_err().to_string();
    assert!(error.contains("thread:get(\"heard\"): the thread was on another machine"), "{error}");
}
