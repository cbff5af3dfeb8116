//! requirements.txt: parse, render, diff. Pure.
