//! Which parameters of a query hold nothing but what the generator made itself, so that they can be shown.

use crate::secrets::is_secret_name;
use unblink_engine::job::Job;
use unblink_wire::http1::Http1;

/// Stands for what the generator makes. No request has it in its target.
const MADE: u8 = 1;

/// The parameters of a request's query, in order: `{{index}}`, a key or a time is all of its value.
#[derive(Default)]
pub(crate) struct Made(Vec<bool>);

impl Made {
    /// Those of an operation.
    pub(crate) fn of(job: &Job<Http1>, operation: u32) -> Made {
        let request = job.operations.get(operation as usize);
        let blank = request.and_then(|request| request.blank.as_deref());
        let (Some([head, _]), Some(values)) = (blank, &job.values) else { return Made::default() };
        let Some(composition) = values.composition(operation) else { return Made::default() };
        let mut bytes = Vec::new();
        let place = |number, out: &mut Vec<u8>| {
            out.push(if composition.is_made(number, values.lets()) { MADE } else { MADE + 1 });
        };
        head.write(place, &mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let target = text.lines().next().and_then(|line| line.split(' ').nth(1));
        Made(target.map(parameters).into_iter().flatten().map(is_made).collect())
    }

    /// `masked` with what may be seen of `target`, which it was.
    pub(crate) fn shown(&self, masked: &str, target: &str) -> String {
        let Some((path, query)) = masked.split_once('?') else { return masked.to_string() };
        let sent: Vec<&str> = parameters(target).collect();
        // Where a value brought parameters of its own, it is not known which is which.
        if sent.len() != self.0.len() {
            return masked.to_string();
        }
        let one =
            |((masked, sent), made): ((&str, &&str), &bool)| String::from(if *made { sent } else { masked });
        let all: Vec<String> = query.split('&').zip(&sent).zip(&self.0).map(one).collect();
        format!("{path}?{}", all.join("&"))
    }
}

fn parameters(target: &str) -> impl Iterator<Item = &str> {
    target.split_once('?').into_iter().flat_map(|(_, query)| query.split('&'))
}

fn is_made(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    !value.is_empty() && value.bytes().all(|byte| byte == MADE) && !is_secret_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_generator_makes_is_shown_and_nothing_else() {
        let of = |pattern: &str| Made(parameters(pattern).map(is_made).collect());
        let made = of("/a?n=\u{1}&q=\u{2}&token=\u{1}&mixed=x\u{1}&both=\u{1}\u{1}&fixed=7&\u{1}");
        let shown = made.shown(
            "/a?n=***&q=***&token=***&mixed=***&both=***&fixed=***&***",
            "/a?n=5&q=w&token=5&mixed=x5&both=55&fixed=7&5",
        );
        assert_eq!(shown, "/a?n=5&q=***&token=***&mixed=***&both=55&fixed=***&***");
        assert_eq!(of("/a?n=\u{1}").shown("/a?n=***&b=***", "/a?n=5&b=6"), "/a?n=***&b=***");
        assert_eq!(Made::default().shown("/a?n=***", "/a?n=5"), "/a?n=***");
    }
}
