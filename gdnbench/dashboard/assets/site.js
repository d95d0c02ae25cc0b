// On every page: the switch of themes, the key of the search, and how old the last night is by the reader's clock.
"use strict";
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  const say = () => { button.textContent = `Theme: ${root.dataset.theme ?? "auto"}`; };
  button.hidden = false;
  say();
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    try { localStorage.setItem("gdnbench-theme", next); } catch { /* then only this page has it */ }
    say();
    dispatchEvent(new Event("themed"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themed")));

  // Paper is light, whatever the screen is.
  let chosen;
  addEventListener("beforeprint", () => { chosen = root.dataset.theme; root.dataset.theme = "light"; });
  addEventListener("afterprint", () => { if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme; });

  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) return;
    event.preventDefault();
    document.getElementById("find").focus();
  });

  const asked = new URLSearchParams(location.search).get("q");
  if (asked !== null) document.getElementById("find").value = asked;

  for (const place of document.querySelectorAll("[data-night]")) {
    const days = Math.floor((Date.now() - Date.parse(`${place.dataset.night}T12:00:00Z`)) / 86400e3);
    const many = `${days} day${days === 1 ? "" : "s"}`;
    if (place.classList.contains("age") && days >= 1) place.textContent = `, ${many} ago`;
    if (place.classList.contains("old") && days > 2) {
      place.textContent = `The last night is ${many} old: nothing was measured since, or this site was not made again.`;
      place.hidden = false;
    }
  }

  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const details = target?.querySelector?.("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
