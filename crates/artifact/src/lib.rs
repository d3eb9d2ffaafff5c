//! The run document, its JSON Schema, the run folder and the HdrHistogram log.
