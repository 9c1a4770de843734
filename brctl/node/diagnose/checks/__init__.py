"""One check a file: `CHECK` in it, named after the file. The engine finds them; nothing else lists them."""
