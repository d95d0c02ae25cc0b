// The points of one series: what plot.js draws, and the table of all of them.
"use strict";
(() => {
  const { id, own: packed, beside, shifts } = JSON.parse(document.getElementById("drawn").textContent);
  const { amount, made, runs } = gdnbench;

  const read = (data) => {
    const found = { ...data };
    for (const name of ["run", "value", "low", "high", "launches", "verdict"])
      found[name] = gdnbench.column(data[name], data.points);
    found.when = (at) => runs.position[found.run[at]];
    return found;
  };
  const own = read(packed);
  const shown = (at) => amount(own.unit, own.value[at]);
  const interval = (at) => {
    if (own.exact) return "exact";
    return Number.isFinite(own.low[at]) ? `${amount(own.unit, own.low[at])} to ${amount(own.unit, own.high[at])}` : "n/a";
  };
  const said = (at) => own.invalid[at] ?? gdnbench.verdicts[own.verdict[at]];
  const page = (at) => `../runs/${runs.name[own.run[at]]}.html`;
  gdnbench.one = { id, own, others: beside.map(read), shifts, shown, interval, said, page };

  const HEADS = ["time (UTC)", "figure", "95 % interval", "launches", "verdict", "commit", "run"];
  const KINDS = ["", "number", "number", "number", "name", ""];
  const row = (at) => {
    const line = made("tr"), time = new Date(own.when(at)).toISOString().slice(0, 16).replace("T", " ");
    const cells = [time, shown(at), interval(at), String(own.launches[at]), said(at), runs.commit[own.run[at]]];
    cells.forEach((text, column) => line.append(made("td", text, { className: KINDS[column] })));
    const last = made("td", "", { className: "name" });
    last.append(made("a", runs.name[own.run[at]], { href: page(at) }));
    line.append(last);
    return line;
  };
  const table = () => {
    const head = made("tr"), top = made("thead"), body = made("tbody"), whole = made("table");
    head.append(...HEADS.map((name) => made("th", name, { scope: "col" })));
    top.append(head);
    for (let at = own.points - 1; at >= 0; at--) body.append(row(at));
    whole.append(top, body);
    const scroll = made("div", "", { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "All points, the newest first");
    scroll.append(whole);
    return scroll;
  };
  const details = document.getElementById("points");
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("table")) details.append(table());
  });
})();
