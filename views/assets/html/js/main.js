// Puts the page together, and the keys that work everywhere.

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  redraw();
}
const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
byId("theme").addEventListener("click", () => theme(dark() ? "light" : "dark"));

overview();
requests();
comparison();
episodes();
roundtrips();
resources();
code();
doubts();

const sections = [...document.querySelectorAll("main > section")].filter((section) => !section.hidden);
document.querySelector("nav").append(...sections.map((section, index) =>
  make("a", { href: "#" + section.id, title: `Key ${index + 1}` }, section.querySelector("h2").textContent)));

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input")) return;
  if (event.key === "t") byId("theme").click();
  else if (event.key === "/") { document.querySelector("#request-table input").focus(); event.preventDefault(); }
  else if (/^[1-9]$/.test(event.key)) sections[event.key - 1]?.scrollIntoView();
});
addEventListener("beforeprint", redraw);
document.documentElement.dataset.ready = "yes";
