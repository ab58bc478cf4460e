// The visible texts whose contrast with what is behind them is under 4.5, as
// WCAG 2.2 computes it. A disabled control is exempt there, and here.
(() => {
  const parse = (text) => {
    const n = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return n.length > 3 ? n : [...n, 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = new Map([[null, [255, 255, 255, 1]]]);
  const behind = (e) => {
    if (!grounds.has(e)) grounds.set(e, over(parse(getComputedStyle(e).backgroundColor), behind(e.parentElement)));
    return grounds.get(e);
  };
  const found = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const e = node.parentElement;
    const text = node.data.trim();
    if (!text || !e.checkVisibility({ visibilityProperty: true }) || e.closest("script, style, noscript, option, :disabled")) continue;
    const style = getComputedStyle(e);
    const back = behind(e);
    const front = over(parse(e instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [luminance(front), luminance(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${ratio.toFixed(2)} ${e.tagName}.${e.className.baseVal ?? e.className} "${text.slice(0, 40)}" ${style.color} on ${back.slice(0, 3).map(Math.round)}`);
  }
  return [...found];
})()
