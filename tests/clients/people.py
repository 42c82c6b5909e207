"""A small file that can be read and anonymized."""

PEOPLE = b"age,wage\n" + b"".join(b"%d,%d\n" % (18 + i % 50, 1000 + i) for i in range(40))
