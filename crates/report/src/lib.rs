//! The run document as terminal text, HTML, SVG and CSV; pure.
