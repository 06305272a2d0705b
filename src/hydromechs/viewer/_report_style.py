"""Style sheet of reports: light, one column, readable on a desk, on a phone and on paper."""

CSS = """
:root { color-scheme: light; --ink: #1d2b33; --soft: #5b6770; --line: #dde4e8; --sea: #0b5c86; --good: #17734a;
  --bad: #b3261e; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: #f3f6f8; color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; overflow-wrap: break-word; }
main { max-width: 1000px; margin: 0 auto; padding: 0 20px 24px; }
header { padding: 44px 0 8px; }
.brand { margin: 0; color: var(--sea); font-size: 13px; font-weight: 600; letter-spacing: .08em; text-transform: uppercase; }
h1 { margin: 6px 0 14px; font-size: 36px; line-height: 1.15; letter-spacing: -.01em; }
h2 { margin: 0 0 12px; font-size: 21px; }
h3 { margin: 0; font-size: 17px; }
p { margin: 0 0 10px; max-width: 46em; }
.lead { font-size: 18px; }
.replay a { display: inline-block; padding: 7px 16px; border-radius: 8px; background: var(--sea); color: #fff; font-weight: 600;
  text-decoration: none; }
.replay code { padding: 3px 8px; border-radius: 6px; background: #e6ebee; }
.verdict { display: inline-block; margin: 0 0 18px; padding: 5px 14px; border-radius: 99px; font-weight: 600; }
.good { color: var(--good); background: #dff3e8; }
.bad { color: var(--bad); background: #fbe4e1; }
.warn { color: #855300; background: #fdeec6; }
.none { color: var(--soft); background: #e6ebee; }
section { margin: 20px 0 0; padding: 24px; background: #fff; border: 1px solid var(--line); border-radius: 12px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(172px, 1fr)); gap: 14px; padding: 0; border: 0;
  background: none; }
.card { padding: 16px 18px; background: #fff; border: 1px solid var(--line); border-radius: 12px; }
.label { color: var(--soft); font-size: 13.5px; }
.value { margin: 2px 0; font-size: 23px; font-weight: 650; line-height: 1.25; }
.value sup { font-size: .6em; }
.note, .caption { color: var(--soft); font-size: 14px; }
.messages { background: #fff8e6; border-color: #f0dfae; }
.messages ul { margin: 0; padding-left: 20px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 9px 10px; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
th { color: var(--soft); font-size: 14px; font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { display: inline-block; padding: 2px 10px; border-radius: 99px; font-size: 14px; font-weight: 600;
  white-space: nowrap; }
.checks td:first-child { width: 1%; }
figure { margin: 26px 0 0; padding: 24px 0 0; border-top: 1px solid var(--line); }
h2 + figure { margin-top: 0; padding-top: 0; border-top: 0; }
.plots .caption { margin: 2px 0 12px; }
.scroll { overflow-x: auto; }
img { display: block; width: 100%; max-width: 880px; height: auto; margin: 0 auto; }
.audit td { vertical-align: middle; }
.bars { width: 55%; }
.bar { position: relative; height: 16px; background: linear-gradient(#9aa5ad, #9aa5ad) center / 1px 100% no-repeat; }
.bar i { position: absolute; top: 1px; bottom: 1px; }
.in { background: #0072b2; border-radius: 0 3px 3px 0; }
.out { background: #d55e00; border-radius: 3px 0 0 3px; }
.sum td { font-weight: 650; }
.sum .note { font-weight: 400; }
.setup th { width: 190px; font-size: 15px; }
details { margin-top: 16px; }
summary { color: var(--sea); cursor: pointer; font-weight: 600; }
pre { margin: 12px 0 0; padding: 14px; overflow-x: auto; background: #f3f6f8; border-radius: 8px; font: 13px/1.5 ui-monospace,
  SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
sup { line-height: 0; }
footer { max-width: 1000px; margin: 0 auto; padding: 4px 20px 40px; color: var(--soft); font-size: 13.5px; }
@media (max-width: 640px) {
  main { padding: 0 12px 16px; }
  header { padding: 24px 4px 0; }
  h1 { font-size: 28px; }
  section { padding: 16px 14px; }
  .cards { grid-template-columns: 1fr 1fr; gap: 10px; }
  .card { padding: 12px 14px; }
  .value { font-size: 21px; }
  th, td { padding: 8px 5px; }
  .checks thead { display: none; }
  .checks tr { display: grid; grid-template-columns: 1fr 1fr; padding: 10px 0; border-bottom: 1px solid var(--line); }
  .checks tr:last-child { border-bottom: 0; }
  .checks td { padding: 3px 0; border: 0; }
  .checks td:nth-child(1), .checks td:nth-child(2) { grid-column: 1 / 3; width: auto; }
  .checks .n { text-align: left; }
  .checks td:nth-child(3)::before { content: "value "; color: var(--soft); }
  .checks td:nth-child(4)::before { content: "limit "; color: var(--soft); }
  .scroll img { width: 570px; max-width: none; }
  .plots h2 + figure .caption::after { content: " Swipe the pictures sideways to see all of them."; }
  .bars { width: 34%; }
  .setup th { width: 96px; font-size: 14px; }
  footer { padding: 0 16px 28px; }
}
@media print {
  @page { margin: 14mm; }
  body { background: #fff; font-size: 11pt; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main, footer { max-width: none; padding: 0; }
  header { padding-top: 0; }
  section { padding: 12px 0; border: 0; }
  figure, .card, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  img { max-width: 100%; max-height: 225mm; width: auto; }
}
"""
