// The plot of one series, with exact costs of the same step below.
"use strict";
(() => {
  const { one: { id, own, others, shifts, shown, interval, said, page }, plain, runs } = gdnbench;
  const place = document.getElementById("plot"), DAY = 86400e3, GAP = 34;
  const isInvalid = (at) => own.invalid[at] !== undefined;
  const numbers = [...Array(own.points).keys()];
  const first = own.when(0), end = own.when(own.points - 1);

  // Points as a line, which breaks where a night between has no point; NaN is a gap too.
  const line = (series) => {
    const found = [];
    let night = null;
    for (let at = 0; at < series.points; at++) {
      if (series.invalid[at] !== undefined) continue;
      const next = runs.night[series.run[at]];
      if (night !== null && next - night > 1) found.push(null);
      found.push(at);
      night = next;
    }
    return found;
  };
  const over = (places, of) => places.map((at) => (at === null ? null : of(at)));

  // A band for each unbroken stretch: forth along the high ends and back along the low ones.
  const band = (places) => {
    const found = { x: [], y: [] }, high = (at) => own.high[at], low = (at) => own.low[at];
    let part = [];
    const close = () => {
      const back = [...part].reverse(), start = part.slice(0, 1);
      if (part.length) {
        found.x.push(...[...part, ...back, ...start].map(own.when), null);
        found.y.push(...part.map(high), ...back.map(low), ...start.map(high), null);
      }
      part = [];
    };
    for (const at of places) {
      if (at === null) close();
      else if (Number.isFinite(own.low[at])) part.push(at);
    }
    close();
    return found;
  };

  // When a run first had another version of vLLM or torch.
  const versions = () => numbers.slice(1).flatMap((at) => {
    const of = (name, number) => gdnbench.worded(runs[name], own.run[number]);
    const names = ["vLLM", "torch"].filter((name) => of(name, at) && of(name, at) !== of(name, at - 1));
    return names.length ? [[own.when(at), names.map((name) => `${name} ${of(name, at)}`).join(", ")]] : [];
  });

  const hover = (at) => {
    const run = own.run[at], commit = runs.commit[run] && `commit ${runs.commit[run]}`;
    const lines = [runs.name[run], shown(at), interval(at), `${own.launches[at]} launches`, said(at), commit];
    return lines.filter(Boolean).map(plain).join("<br>");
  };
  const dots = (chosen, marker, name) => ({
    x: chosen.map(own.when), y: chosen.map((at) => own.value[at]), customdata: chosen, name, mode: "markers", marker,
    text: chosen.map(hover), hovertemplate: "%{text}<extra></extra>",
  });
  const figures = (colour) => {
    const places = line(own), size = own.points > 120 ? 4 : 6, tone = colour.link;
    const stroke = { x: over(places, own.when), y: over(places, (at) => own.value[at]), mode: "lines", hoverinfo: "skip" };
    const found = [
      { ...band(places), fill: "toself", fillcolor: tone, opacity: 0.28, mode: "lines", line: { width: 1, color: tone },
        hoverinfo: "skip", name: "95 % interval" },
      { ...stroke, line: { width: 1.2, color: tone }, name: "line" },
      dots(numbers.filter((at) => !isInvalid(at)), { size, color: tone }, "figure"),
    ];
    const invalid = numbers.filter(isInvalid);
    const cross = { size: 9, symbol: "x-thin", line: { width: 2, color: colour.worse } };
    return invalid.length ? [...found, dots(invalid, cross, "invalid")] : found;
  };

  const label = (size, tone, given) => ({ showarrow: false, yref: "paper", font: { size, color: tone }, ...given });
  const marks = (colour, floor) => {
    const shapes = [], annotations = [];
    const known = shifts.filter((shift) => shift.run !== null).sort((a, b) => a.run - b.run);
    const times = [first, ...known.map((shift) => runs.position[shift.run]), end];
    known.forEach((shift, number) => {
      const [since, at, until] = times.slice(number, number + 3), tone = shift.worse ? colour.worse : colour.better;
      const level = (x0, x1, y) => ({ type: "line", x0, x1, y0: y, y1: y, line: { color: tone, width: 1.5 } });
      const step = { type: "line", x0: at, x1: at, y0: floor, y1: 1, yref: "paper" };
      shapes.push({ ...step, line: { color: tone, width: 2, dash: "dash" } });
      shapes.push(level(since, at, shift.before), level(at, until, shift.after));
      const text = plain(`${shift.size} ${shift.state}`);
      annotations.push(label(12, tone, { x: at, y: 1, xanchor: "right", yanchor: "bottom", text }));
    });
    for (const [at, text] of versions()) {
      const rule = { type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper" };
      shapes.push({ ...rule, line: { color: colour.faint, width: 1, dash: "dot" } });
      const where = { x: at, y: floor, xanchor: "left", yanchor: "bottom", textangle: -90 };
      annotations.push(label(11, colour.faint, { ...where, text: plain(text) }));
    }
    return { shapes, annotations };
  };

  const draw = (onPaper) => {
    const colour = gdnbench.colours(), [main, tall] = onPaper ? [240, 46] : [380, 64];
    const beneath = others.length ? tall * others.length + GAP : 0, inner = main + beneath, floor = beneath / inner;
    const { shapes, annotations } = marks(colour, floor), traces = figures(colour);
    const axis = { gridcolor: colour.line, zerolinecolor: colour.line, linecolor: colour.faint, tickcolor: colour.faint };
    const layout = {
      ...gdnbench.sheet(colour, onPaper), height: inner + 68, margin: { l: 64, r: 16, t: 28, b: 40 }, showlegend: false,
      shapes, annotations,
      xaxis: { ...axis, type: "date", anchor: others.length ? `y${others.length + 1}` : "y" },
      yaxis: { ...axis, domain: [floor, 1], title: { text: plain(own.unit) }, rangemode: own.exact ? "tozero" : "normal" },
    };
    if (end - first < DAY) layout.xaxis.range = [first - 2 * DAY, end + 2 * DAY];
    others.forEach((count, number) => {
      const from = (tall * (others.length - 1 - number)) / inner, to = from + (tall - 22) / inner, places = line(count);
      const values = count.value.filter(Number.isFinite), least = Math.min(...values), most = Math.max(...values);
      const room = (most - least || 1) / 5, range = [least - room, most + room], name = plain(count.metric);
      const ticks = { tickvals: [...new Set([least, most])], tickformat: "," };
      layout[`yaxis${number + 2}`] = { ...axis, ...ticks, domain: [from, to], range, fixedrange: true };
      traces.push({
        x: over(places, count.when), y: over(places, (at) => count.value[at]), yaxis: `y${number + 2}`, name,
        mode: "lines+markers", line: { shape: "hv", width: 1.5, color: colour.ink }, marker: { size: 3 },
        hovertemplate: `${name} %{y:,}<extra></extra>`,
      });
      const where = { x: 0, xref: "paper", xanchor: "left", y: to, yanchor: "bottom" };
      annotations.push(label(11, colour.faint, { ...where, text: name }));
    });
    Plotly.react(place, traces, layout, { ...gdnbench.configured(place), toImageButtonOptions: { filename: id } });
  };

  gdnbench.drawn(draw);
  place.on("plotly_click", ({ points: [point] }) => {
    if (point.customdata !== undefined) location.href = page(point.customdata);
  });
  const tools = document.querySelector(".tools"), buttons = [...tools.querySelectorAll("button")];
  tools.hidden = false;
  for (const button of buttons) button.addEventListener("click", () => {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    const nights = Number(button.dataset.nights), range = [end - (nights - 0.5) * DAY, end + DAY / 2];
    Plotly.relayout(place, nights ? { "xaxis.range": range } : { "xaxis.autorange": true });
  });
})();
