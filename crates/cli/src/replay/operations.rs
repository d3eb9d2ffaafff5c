//! The kinds of recorded requests: by method, and by path with its numbers left out.

use super::answers::Answers;
use std::collections::HashMap;
use unblink_trace::format::Request;
use unblink_trace::route::route;

/// Kinds at the most; of further ones, those of a method are together.
const KINDS_MAX: usize = 1_000;
/// Methods that have a kind for further ones.
const METHODS_MAX: usize = 16;
/// How a kind is called whose paths are not told apart.
const OTHERS: &str = "/(others)";

/// A kind of recorded requests.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// `GET /items/{id}`
    pub name: String,
    pub method: String,
    /// `/items/{id}`
    pub path: String,
    /// How many were recorded.
    pub count: u64,
    /// What was recorded of their answers.
    pub(super) answers: Answers,
}

impl Operation {
    fn new(name: &str, method: &str) -> Operation {
        let path = name.get(method.len() + 1..).unwrap_or_default().to_string();
        Operation {
            name: name.to_string(),
            method: method.to_string(),
            path,
            count: 0,
            answers: Answers::default(),
        }
    }
}

/// Finds the kind of each request.
#[derive(Default)]
pub(super) struct Kinds {
    pub(super) all: Vec<Operation>,
    by_name: HashMap<String, u16>,
    name: String,
}

impl Kinds {
    /// The number of its kind. None where there are too many methods.
    pub(super) fn of(&mut self, request: &Request) -> Option<u16> {
        self.name.clear();
        route(request, &mut self.name);
        let known = self.by_name.get(&self.name).copied();
        let number = match known {
            Some(number) => number,
            None if self.all.len() < KINDS_MAX => self.add(&request.method),
            None => {
                self.name = format!("{} {OTHERS}", request.method);
                match self.by_name.get(&self.name) {
                    Some(&number) => number,
                    None if self.all.len() < KINDS_MAX + METHODS_MAX => self.add(&request.method),
                    None => return None,
                }
            }
        };
        let kind = &mut self.all[usize::from(number)];
        kind.count += 1;
        kind.answers.add(request);
        Some(number)
    }

    /// A kind alone, for tests of what lies around it.
    #[cfg(test)]
    pub(super) fn of_one(name: &str) -> Vec<Operation> {
        vec![Operation::new(name, "GET")]
    }

    fn add(&mut self, method: &str) -> u16 {
        let number = self.all.len() as u16;
        self.all.push(Operation::new(&self.name, method));
        self.by_name.insert(self.name.clone(), number);
        number
    }

    /// The most frequent ones first, and for each number from before the one that it has now.
    pub(super) fn sorted(all: &[Operation]) -> (Vec<Operation>, Vec<u16>) {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|&a, &b| all[b].count.cmp(&all[a].count).then_with(|| all[a].name.cmp(&all[b].name)));
        let mut now = vec![0; all.len()];
        (0..).zip(&order).for_each(|(number, &before)| now[before] = number);
        (order.into_iter().map(|before| all[before].clone()).collect(), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &'static str, path: &str) -> Request {
        Request { method: method.into(), path: path.into(), ..Request::default() }
    }

    #[test]
    fn the_most_frequent_ones_come_first() {
        let mut kinds = Kinds::default();
        let numbers: Vec<u16> = ["/b", "/a/1", "/a/2?x=1", "/a/3"]
            .iter()
            .map(|path| request("GET", path))
            .chain([request("HEAD", "/b")])
            .map(|request| kinds.of(&request).unwrap())
            .collect();
        let (all, now) = Kinds::sorted(&kinds.all);
        let names: Vec<(&str, &str, u64)> =
            all.iter().map(|one| (&*one.name, &*one.path, one.count)).collect();
        assert_eq!(names, [("GET /a/{id}", "/a/{id}", 3), ("GET /b", "/b", 1), ("HEAD /b", "/b", 1)]);
        let now: Vec<u16> = numbers.iter().map(|&number| now[usize::from(number)]).collect();
        assert_eq!(now, [1, 0, 0, 0, 2]);
    }

    #[test]
    fn of_very_many_the_last_are_together() {
        let mut kinds = Kinds::default();
        let word = |n: usize| n.to_string().bytes().map(|digit| char::from(digit + 49)).collect::<String>();
        for n in 0..KINDS_MAX + 5 {
            kinds.of(&request("GET", &format!("/{}", word(n)))).unwrap();
        }
        assert_eq!(kinds.all.len(), KINDS_MAX + 1);
        assert_eq!(kinds.all.last().map(|one| (&*one.name, one.count)), Some(("GET /(others)", 5)));
    }
}
