// Levels of vLLM's builder from release to release.
"use strict";
(() => {
  const { releases, loads } = JSON.parse(document.getElementById("drawn").textContent);
  const { plain } = gdnbench, place = document.getElementById("plot");
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "star", "hexagon"];
  const TICKS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50];

  const hover = (load) => (release, at) => {
    const step = load.steps[release], level = load.levels[at] === null ? "n/a" : `× ${load.levels[at].toFixed(2)}`;
    const lines = [`${load.name}, ${release}: ${level}`, step && `step ${step[0]} (${step[1]}), ${step[2]}`];
    return lines.filter(Boolean).map(plain).join("<br>");
  };
  const draw = (onPaper) => {
    const colour = gdnbench.colours();
    const tones = [colour.link, colour.worse, colour.better, colour.unsure, colour.ink, colour.faint];
    const traces = loads.map((load, number) => {
      const tone = tones[number % tones.length], dash = number < tones.length ? "solid" : "dash";
      const isShift = releases.map((release) => load.steps[release]?.[3] === true);
      const ring = { width: isShift.map((yes) => (yes ? 2 : 0)), color: colour.ink };
      const size = isShift.map((yes) => (yes ? 11 : 6));
      return {
        x: releases, y: load.levels, name: plain(`${load.name} (${load.kind})`), mode: "lines+markers",
        line: { color: tone, width: 1.6, dash },
        marker: { symbol: SYMBOLS[number % SYMBOLS.length], size, color: tone, line: ring },
        text: releases.map(hover(load)), hovertemplate: "%{text}<extra></extra>",
      };
    });
    const axis = { gridcolor: colour.line, linecolor: colour.faint, tickcolor: colour.faint };
    const layout = {
      ...gdnbench.sheet(colour, onPaper), height: onPaper ? 340 : 460, margin: { l: 56, r: 16, t: 16, b: 50 },
      legend: { orientation: "h", y: -0.24 }, xaxis: { ...axis, type: "category", automargin: true },
      yaxis: { ...axis, type: "log", title: { text: plain(`× ${releases[0]}`) }, tickvals: TICKS, tickformat: ".2~f" },
    };
    Plotly.react(place, traces, layout, gdnbench.configured(place));
  };
  gdnbench.drawn(draw);
})();
