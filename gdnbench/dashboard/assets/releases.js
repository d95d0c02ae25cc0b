// Levels of vLLM's builder from release to release.
"use strict";
(() => {
  const { releases, loads } = JSON.parse(document.getElementById("drawn").textContent);
  const { plain } = gdnbench, place = document.getElementById("plot");
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "star", "hexagon"];
  const draw = (onPaper) => {
    const colour = gdnbench.colours(), tones = [colour.link, colour.worse, colour.better, colour.unsure, colour.ink, colour.faint];
    const traces = loads.map((load, number) => {
      const tone = tones[number % tones.length], isShift = releases.map((release) => load.steps[release]?.[3] === true);
      return {
        x: releases, y: load.levels, name: plain(`${load.name} (${load.kind})`), mode: "lines+markers",
        line: { color: tone, width: 1.6, dash: number < tones.length ? "solid" : "dash" },
        marker: { symbol: SYMBOLS[number % SYMBOLS.length], size: isShift.map((yes) => (yes ? 11 : 6)), color: tone, line: { width: isShift.map((yes) => (yes ? 2 : 0)), color: colour.ink } },
        text: releases.map((release, at) => {
          const step = load.steps[release], level = load.levels[at] === null ? "n/a" : `× ${load.levels[at]?.toFixed(2)}`;
          return [`${load.name}, ${release}: ${level}`, step && `step ${step[0]} (${step[1]}), ${step[2]}`].filter(Boolean).map(plain).join("<br>");
        }),
        hovertemplate: "%{text}<extra></extra>",
      };
    });
    const axis = { gridcolor: colour.line, linecolor: colour.faint, tickcolor: colour.faint };
    Plotly.react(place, traces, {
      ...(onPaper ? gdnbench.PAPER : { autosize: true }), height: onPaper ? 340 : 460, margin: { l: 56, r: 16, t: 16, b: 50 }, paper_bgcolor: colour.ground, plot_bgcolor: colour.ground,
      font: { color: colour.ink, family: "system-ui, sans-serif", size: 12 }, hovermode: "closest",
      hoverlabel: { bgcolor: colour.ground, bordercolor: colour.faint, font: { color: colour.ink } },
      legend: { orientation: "h", y: -0.18 }, xaxis: { ...axis, type: "category" },
      yaxis: { ...axis, type: "log", title: { text: `× ${releases[0]}` }, tickvals: [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50], tickformat: ".2~f" },
    }, gdnbench.configured(place));
  };
  gdnbench.drawn(draw);
})();
