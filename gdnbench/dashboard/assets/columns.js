// Columns of data files, and figures as a reader sees them.
"use strict";
(() => {
  const kinds = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array, i1: Int8Array };

  // A column: one number for all, nothing, or bytes in base 64.
  gdnbench.column = (packed, length) => {
    if (packed === null) return new Float64Array(length).fill(NaN);
    if (typeof packed === "number") return new Float64Array(length).fill(packed);
    const text = atob(packed.bdata), bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return new kinds[packed.dtype](bytes.buffer);
  };

  gdnbench.worded = (column, at) => column.words[column.codes[at]];

  // As `gdnbench.dashboard.words.amount` has it.
  gdnbench.amount = (unit, number) => {
    if (!Number.isFinite(number)) return "n/a";
    const signed = (value) => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(1)}`;
    if (unit === "ratio") return `${signed(Math.round((number - 1) * 1000) / 10 + 0)} %`;
    if (unit === "difference") return `${signed(100 * number)} points`;
    const size = Math.abs(number);
    const places = Number.isInteger(number) ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
    const shown = number.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
    return unit === "count" ? shown : `${shown} ${unit}`.trim();
  };

  // An element with text; texts never become HTML.
  gdnbench.made = (name, text = "", given = {}) => {
    const element = Object.assign(document.createElement(name), given);
    element.textContent = text;
    return element;
  };

  gdnbench.colours = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ["ink", "ground", "line", "faint", "link", "better", "worse", "unsure"];
    return Object.fromEntries(names.map((name) => [name, of(name)]));
  };
  // plotly reads a few tags in texts: these signs are none of them.
  gdnbench.plain = (text) => String(text).replace(/[<>&]/g, (sign) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[sign]);

  // Draws now, in another theme, and for paper, which is narrow and shows nothing that moves.
  gdnbench.drawn = (draw) => {
    draw(false);
    addEventListener("themed", () => draw(false));
    addEventListener("beforeprint", () => draw(true));
    addEventListener("afterprint", () => draw(false));
  };
  gdnbench.sheet = (colour, onPaper) => ({
    ...(onPaper ? { autosize: false, width: 680 } : { autosize: true }), hovermode: "closest",
    paper_bgcolor: colour.ground, plot_bgcolor: colour.ground,
    font: { color: colour.ink, family: "system-ui, sans-serif", size: 12 },
    hoverlabel: { bgcolor: colour.ground, bordercolor: colour.faint, font: { color: colour.ink } },
  });

  gdnbench.configured = (place) => ({
    responsive: true, displaylogo: false, displayModeBar: place.clientWidth > 600,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  });

  gdnbench.verdicts = ["", "improved", "regressed", "same", "unknown", "invalid"];
})();
