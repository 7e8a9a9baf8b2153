// Starts with lines that other parsers interpret.
// submits: its value
// answers: 200 1
"#!/bin/sh -c 'exit 1'\n'use strict'; return 1"
