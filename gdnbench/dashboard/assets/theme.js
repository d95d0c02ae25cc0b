// Before anything is drawn: the theme that the reader chose, if it can be remembered.
"use strict";
window.gdnbench ??= {};
try {
  const chosen = localStorage.getItem("gdnbench-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* a browser may refuse to remember anything for files */ }
