// The plot and the table of one series, with exact costs of the same step below.
"use strict";
(() => {
  const { id, own: points, beside, shifts } = JSON.parse(document.getElementById("drawn").textContent);
  const { runs, plain } = gdnbench, place = document.getElementById("plot"), DAY = 86400e3;

  const read = (data) => {
    const length = data.points, column = (name) => gdnbench.column(data[name], length);
    return { ...data, run: column("run"), value: column("value"), low: column("low"), high: column("high"), launches: column("launches"), verdict: column("verdict") };
  };
  const own = read(points);
  const others = beside.map(read);
  const version = (name, run) => gdnbench.worded(runs[name], run);
  const interval = (at) => (Number.isFinite(own.low[at]) ? `${gdnbench.amount(own.unit, own.low[at])} to ${gdnbench.amount(own.unit, own.high[at])}` : own.exact ? "exact" : "n/a");
  const said = (at) => own.invalid[at] ?? gdnbench.verdicts[own.verdict[at]];

  // Lines break where a night between has no point.
  const broken = (one, ...columns) => {
    const x = [], rest = columns.map(() => []);
    for (let at = 0; at < one.points; at++) {
      if (one.invalid[at] !== undefined) continue;
      const before = x.length ? runs.night[one.run[at]] - x.night : 0;
      if (before > 1) { x.push(null); rest.forEach((column) => column.push(null)); }
      x.push(runs.position[one.run[at]]);
      columns.forEach((column, number) => rest[number].push(column[at]));
      x.night = runs.night[one.run[at]];
    }
    return [x, ...rest];
  };
  // A band for each unbroken stretch: up along the high ends and back along the low ones.
  const bands = (x, low, high) => {
    const found = { x: [], y: [] };
    for (let start = 0, end; start < x.length; start = end + 1) {
      for (end = start; end < x.length && x[end] !== null; end++);
      const part = [];
      for (let at = start; at < end; at++) if (Number.isFinite(low[at])) part.push(at);
      if (!part.length) continue;
      if (part.length === 1) {
        found.x.push(x[part[0]], x[part[0]], null);
        found.y.push(low[part[0]], high[part[0]], null);
        continue;
      }
      const back = [...part].reverse();
      found.x.push(...part.map((at) => x[at]), ...back.map((at) => x[at]), x[part[0]], null);
      found.y.push(...part.map((at) => high[at]), ...back.map((at) => low[at]), high[part[0]], null);
    }
    return found;
  };

  const releases = () => {
    const found = [];
    for (let at = 1; at < own.points; at++) {
      const names = ["vLLM", "torch"].filter((name) => version(name, own.run[at]) !== version(name, own.run[at - 1]) && version(name, own.run[at]));
      if (names.length) found.push([runs.position[own.run[at]], names.map((name) => `${name} ${version(name, own.run[at])}`).join(", ")]);
    }
    return found;
  };

  const GAP = 34;

  const draw = (onPaper) => {
    const colour = gdnbench.colours();
    const [main, tall] = onPaper ? [240, 46] : [380, 64], beneath = others.length ? tall * others.length + GAP : 0, inner = main + beneath, height = inner + 68, floor = beneath / inner;
    const [x, y, low, high] = broken(own, own.value, own.low, own.high);
    const band = bands(x, low, high), valid = [], invalid = [];
    for (let at = 0; at < own.points; at++) (own.invalid[at] === undefined ? valid : invalid).push(at);
    const hover = (at) => [runs.name[own.run[at]], gdnbench.amount(own.unit, own.value[at]), interval(at), `${own.launches[at]} launches`, said(at), runs.commit[own.run[at]] && `commit ${runs.commit[own.run[at]]}`].filter(Boolean).map(plain).join("<br>");
    const dots = (chosen, marker, name) => ({
      x: chosen.map((at) => runs.position[own.run[at]]), y: chosen.map((at) => own.value[at]), customdata: chosen, name,
      mode: "markers", marker, text: chosen.map(hover), hovertemplate: "%{text}<extra></extra>",
    });
    const traces = [
      { x: band.x, y: band.y, fill: "toself", mode: "lines", line: { width: 1, color: colour.link }, opacity: 0.28, fillcolor: colour.link, hoverinfo: "skip", name: "95 % interval" },
      { x, y, mode: "lines", line: { width: 1.2, color: colour.link }, hoverinfo: "skip", name: "figure", connectgaps: false },
      dots(valid, { size: own.points > 120 ? 4 : 6, color: colour.link }, "figure"),
    ];
    if (invalid.length) traces.push(dots(invalid, { size: 9, symbol: "x-thin", line: { width: 2, color: colour.worse } }, "invalid"));
    const shapes = [], annotations = [], label = (given) => ({ showarrow: false, font: { size: 11, color: colour.ink }, yref: "paper", ...given });
    const end = runs.position[own.run[own.points - 1]] ?? 0;
    const drawn = shifts.filter((shift) => shift.run !== null).sort((a, b) => a.run - b.run);
    drawn.forEach((shift, number) => {
      const at = runs.position[shift.run], until = drawn[number + 1] ? runs.position[drawn[number + 1].run] : end;
      const since = number ? runs.position[drawn[number - 1].run] : runs.position[own.run[0]];
      const line = { color: shift.worse ? colour.worse : colour.better, width: 2 };
      const level = (from, to, height) => ({ type: "line", x0: from, x1: to, y0: height, y1: height, line: { ...line, width: 1.5 } });
      shapes.push({ type: "line", x0: at, x1: at, y0: floor, y1: 1, yref: "paper", line: { ...line, dash: "dash" } });
      shapes.push(level(since, at, shift.before), level(at, until, shift.after));
      annotations.push(label({ x: at, y: 1, xanchor: "right", yanchor: "bottom", text: `${plain(shift.size)} ${plain(shift.state)}`, font: { size: 12, color: line.color } }));
    });
    for (const [at, text] of releases()) {
      shapes.push({ type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line: { color: colour.faint, width: 1, dash: "dot" } });
      annotations.push(label({ x: at, y: floor, xanchor: "left", yanchor: "bottom", textangle: -90, text: plain(text), font: { size: 11, color: colour.faint } }));
    }
    const axis = { gridcolor: colour.line, zerolinecolor: colour.line, linecolor: colour.faint, tickcolor: colour.faint };
    const layout = {
      ...(onPaper ? gdnbench.PAPER : { autosize: true }), height, margin: { l: 64, r: 16, t: 28, b: 40 }, paper_bgcolor: colour.ground, plot_bgcolor: colour.ground,
      font: { color: colour.ink, family: "system-ui, sans-serif", size: 12 }, showlegend: false, hovermode: "closest", shapes, annotations,
      hoverlabel: { bgcolor: colour.ground, bordercolor: colour.faint, font: { color: colour.ink } },
      xaxis: { ...axis, type: "date", anchor: others.length ? `y${others.length + 1}` : "y" },
      yaxis: { ...axis, domain: [floor, 1], title: { text: plain(own.unit === "ratio" ? "ratio" : own.unit) }, rangemode: own.exact ? "tozero" : "normal" },
    };
    const first = runs.position[own.run[0]];
    if (end - first < DAY) layout.xaxis.range = [first - 2 * DAY, end + 2 * DAY];
    others.forEach((one, number) => {
      const name = `y${number + 2}`, from = (tall * (others.length - 1 - number)) / inner, to = from + (tall - 22) / inner;
      const least = one.value.reduce((a, b) => Math.min(a, b), Infinity), most = one.value.reduce((a, b) => Math.max(a, b), -Infinity), room = (most - least || 1) / 5;
      layout[`yaxis${number + 2}`] = { ...axis, domain: [from, to], tickvals: [...new Set([least, most])], tickformat: ",", range: [least - room, most + room], fixedrange: true };
      const [across, up] = broken(one, one.value);
      traces.push({ x: across, y: up, yaxis: name, mode: "lines+markers", line: { shape: "hv", width: 1.5, color: colour.ink }, marker: { size: 3 }, name: one.metric, hovertemplate: `${plain(one.metric)} %{y:,}<extra></extra>` });
      annotations.push(label({ x: 0, xref: "paper", xanchor: "left", y: to, yanchor: "bottom", text: plain(one.metric), font: { size: 11, color: colour.faint } }));
    });
    Plotly.react(place, traces, layout, gdnbench.configured(place));
  };

  const table = (details) => {
    const { made } = gdnbench, scroll = made("div", "", { className: "scroll", tabIndex: 0 }), head = made("tr"), body = made("tbody");
    for (const name of ["time (UTC)", "figure", "95 % interval", "launches", "verdict", "commit", "run"]) head.append(made("th", name, { scope: "col" }));
    for (let at = own.points - 1; at >= 0; at--) {
      const run = own.run[at], line = made("tr");
      const cells = [new Date(runs.position[run]).toISOString().slice(0, 16).replace("T", " "), gdnbench.amount(own.unit, own.value[at]), interval(at), String(own.launches[at]), said(at), runs.commit[run]];
      cells.forEach((text, number) => line.append(made("td", text, { className: number > 0 && number < 4 ? "number" : number === 4 ? "name" : "" })));
      const cell = made("td", "", { className: "name" });
      cell.append(made("a", runs.name[run], { href: `../runs/${runs.name[run]}.html` }));
      line.append(cell);
      body.append(line);
    }
    const whole = made("table"), top = made("thead");
    top.append(head);
    whole.append(top, body);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "All points, the newest first");
    scroll.append(whole);
    details.append(scroll);
  };

  gdnbench.drawn(draw);
  place.on("plotly_click", ({ points: [point] }) => {
    if (point.customdata !== undefined) location.href = `../runs/${runs.name[own.run[point.customdata]]}.html`;
  });
  const details = document.getElementById("points");
  details.addEventListener("toggle", () => { if (details.open && !details.querySelector("table")) table(details); });
  const tools = document.querySelector(".tools"), buttons = [...tools.querySelectorAll("button")];
  tools.hidden = false;
  for (const button of buttons) button.addEventListener("click", () => {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    const nights = Number(button.dataset.nights), last = runs.position[own.run[own.points - 1]];
    if (nights) Plotly.relayout(place, { "xaxis.range": [last - (nights - 0.5) * DAY, last + DAY / 2] });
    else Plotly.relayout(place, { "xaxis.autorange": true });
  });
})();
