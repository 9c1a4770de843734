"""The live view: ticks and keys -> what a terminal shows.

Frames are lines made here and not rich's tables, which take 15 ms for 16 rows and 900 ms for 1024: only rows that are
seen are drawn, and only lines that have changed are written. rich tells what the terminal can do, and has the colours.
"""
