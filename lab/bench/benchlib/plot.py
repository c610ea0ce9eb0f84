# SPDX-License-Identifier: GPL-2.0
"""Plots, by gnuplot."""
import subprocess

from .core import Fail, rel

HEAD = """set terminal pngcairo noenhanced size 900,420 font "sans,11"
set output "{output}"
set title "{title}"
set xlabel "{xlabel}"
set ylabel "{ylabel}"
set grid
set key bottom right
set yrange [{ymin}:{ymax}]
set xrange [0:*]
"""


def script(output, title, xlabel, ylabel, yrange, series):
    """The gnuplot program, data included. SERIES: [(name, [(x, y)])]."""
    head = HEAD.format(output=output, title=title, xlabel=xlabel, ylabel=ylabel,
                       ymin=yrange[0], ymax=yrange[1])
    blocks = [f"$data{i} << EOD\n" + "".join(f"{x} {y}\n" for x, y in points) + "EOD\n"
              for i, (_, points) in enumerate(series)]
    plots = [f'$data{i} using 1:2 with linespoints lw 2 pt 7 ps 0.6 title "{name}"'
             for i, (name, _) in enumerate(series)]
    return head + "".join(blocks) + "plot " + ", ".join(plots) + "\n"


def draw(path, title, xlabel, ylabel, yrange, series):
    path.parent.mkdir(parents=True, exist_ok=True)
    program = script(path, title, xlabel, ylabel, yrange, series)
    path.with_suffix(".gnuplot").write_text(program)
    try:
        done = subprocess.run(["gnuplot"], input=program, text=True, capture_output=True)
    except FileNotFoundError:
        raise Fail("there is no gnuplot: run make setup")
    if done.returncode or not path.exists():
        raise Fail(f"gnuplot made no {rel(path)}: {done.stderr.strip().splitlines()[-1:]}")
