// Begins with lines that other readers obey.
// submits: its value
// answers: 200 1
"#!/bin/sh -c 'exit 1'\n'use strict'; return 1"
