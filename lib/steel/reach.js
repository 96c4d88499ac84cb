// Where an element can be pressed, as questions beside those of locate.js. What lies over
// an element counts in each document that holds its own, as far as these are of the same
// origin; nodes of other documents have other prototypes, so that no class is asked for.
({ getter, method, matches, openRoot, body, top, children, parentNode, rectangles, rootOf, isConnected, isElement, isShown, isVisible, isEnabled }) => {
  const box = method(Element.prototype, "getBoundingClientRect");
  const intoView = method(Element.prototype, "scrollIntoView");
  const animations = method(Element.prototype, "getAnimations");
  const slotOf = getter(Element.prototype, "assignedSlot");
  const documentOf = getter(Node.prototype, "ownerDocument");
  const viewOf = (e) => getter(Document.prototype, "defaultView")(documentOf(e));
  const styleOf = (e) => viewOf(e).getComputedStyle(e);
  const isShadow = (n) => n !== null && n.nodeType === Node.DOCUMENT_FRAGMENT_NODE && n.host !== undefined;

  // above is what an element is shown in: what is slotted stands in its slot.
  const above = (e) => {
    const up = slotOf(e) ?? parentNode(e);
    return isShadow(up) ? up.host : up && isElement(up) ? up : null;
  };
  const holds = (e, inner) => {
    for (let at = inner; at; at = above(at)) if (at === e) return true;
    return false;
  };

  // controlOf is what a press on an element works on: a press on any part of a button is
  // one on the button, and one on a label is one on its field.
  const parts = "a[href], button, summary, input, select, textarea, option, label, [role=button i], [role=link i], [role=tab i], [role^=menuitem i], [role=option i]";
  const controlOf = (e) => {
    for (let at = e; at; at = above(at)) if (matches(at, parts)) return matches(at, "label") ? at.control ?? at : at;
    return null;
  };

  // shownAt are the elements at a point of a window, the foremost first. A host of the
  // element is named for text that stands in a slot of it.
  const shownAt = (e, x, y) => {
    const root = rootOf(e);
    const hosts = new Set();
    for (let r = root; isShadow(r); r = rootOf(r.host)) hosts.add(r.host);
    const all = method((isShadow(root) ? ShadowRoot : Document).prototype, "elementsFromPoint")(root, x, y);
    return all.filter((h) => !hosts.has(h));
  };
  const hits = (e, x, y) => {
    const first = shownAt(e, x, y)[0];
    if (!first) return false;
    return holds(e, first) || (controlOf(first) !== null && controlOf(first) === controlOf(e));
  };

  const frameOf = (view) => {
    try {
      return view.frameElement;
    } catch {
      return null;
    }
  };

  // outward turns a point of a frame's window into one of the window that the frame's
  // element stands in.
  const outward = (frame, x, y) => {
    const r = box(frame), style = styleOf(frame);
    const wide = frame.offsetWidth ? r.width / frame.offsetWidth : 1, high = frame.offsetHeight ? r.height / frame.offsetHeight : 1;
    const inset = (side) => parseFloat(style[`border${side}Width`]) + parseFloat(style[`padding${side}`]);
    return [r.left + (inset("Left") + x) * wide, r.top + (inset("Top") + y) * high];
  };

  // climb follows a point through the frames around its element, up frames of them, until
  // something lies over it or there is no frame that can be looked at.
  const climb = (e, x, y, force) => {
    for (let at = e, up = 0; ; up++) {
      if (!force && !hits(at, x, y)) return { x, y, up, problem: "covered" };
      at = frameOf(viewOf(at));
      if (!at) return { x, y, up };
      [x, y] = outward(at, x, y);
    }
  };

  // boxes are the first of an element's boxes; what has none itself has its children's.
  const boxes = (e) => {
    const all = Array.from(rectangles(e)).filter((r) => r.width > 0 && r.height > 0);
    return (all.length ? all : Array.from(children(e)).flatMap(boxes)).slice(0, 10);
  };

  // spots are points of an element that its window shows: the middle, and then others.
  const spots = (e) => {
    const view = viewOf(e), all = [];
    for (const r of boxes(e)) {
      const left = Math.max(r.left, 0), right = Math.min(r.right, view.innerWidth), top = Math.max(r.top, 0), bottom = Math.min(r.bottom, view.innerHeight);
      if (right <= left || bottom <= top) continue;
      for (const [h, v] of [[0.5, 0.5], [0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]) all.push([left + (right - left) * h, top + (bottom - top) * v]);
    }
    return all;
  };
  const pick = (e, force) => {
    let blocked = null;
    for (const [x, y] of spots(e)) {
      const found = climb(e, x, y, force);
      if (!found.problem) return found;
      blocked ??= found;
    }
    return blocked ?? { problem: "outside" };
  };

  // moving are the animations, with an end, that move an element.
  const moves = /^(transform|translate|scale|rotate|offset|top|left|right|bottom|inset|margin|padding|width|height|flex|gap|max|min)/;
  const moving = (e) => {
    const all = [];
    for (let at = e; at; at = above(at)) {
      for (const a of animations(at)) {
        if (a.playState !== "running" || !a.effect || a.effect.getComputedTiming().endTime === Infinity) continue;
        if (a.effect.getKeyframes().some((k) => Object.keys(k).some((name) => moves.test(name)))) all.push(a);
      }
    }
    return all;
  };
  // still waits until nothing moves an element. One animation often follows another, a
  // moment later.
  const pause = (ms) => new Promise((over) => setTimeout(over, ms));
  const still = async (e, most) => {
    const until = performance.now() + most;
    for (let all = moving(e); all.length && performance.now() < until; all = moving(e)) {
      await Promise.race([Promise.allSettled(all.map((a) => a.finished)), pause(until - performance.now())]);
      await pause(20);
    }
  };

  // reachNow finds a point at which a press meets an element, and scrolls unless it is only
  // to look. With force it does not matter what lies over it.
  const reachNow = (e, { look, enabled, force }) => {
    if (!isConnected(e)) return { problem: "gone" };
    if (!isShown() || !isVisible(e)) return { problem: "hidden" };
    if (matches(e, "option, optgroup") && !boxes(e).length) return { problem: "closed" };
    if (enabled && !(isEnabled(e) && isEnabled(controlOf(e) ?? e))) return { problem: "disabled" };
    if (!force && moving(e).length) return { problem: "moving" };
    let found = pick(e, force);
    if (found.problem && look) return { problem: "away" };
    for (const block of ["center", "end", "start"]) {
      if (!found.problem) break;
      intoView(e, { block, inline: block === "center" ? "center" : "nearest", behavior: "instant" });
      found = { ...pick(e, force), scrolled: true };
    }
    return found;
  };

  // reach is reachNow, and waits for what lies over the element unless it is only to look:
  // a dialog that closes often does so in sight.
  const reach = (e, needs) => {
    const found = reachNow(e, needs);
    return needs.look || found.problem !== "covered" ? found : uncovered(e, needs);
  };
  const uncovered = async (e, needs) => {
    const until = performance.now() + needs.patience;
    while (performance.now() < until && pick(e, false).problem) await pause(50);
    return { ...reachNow(e, needs), scrolled: true };
  };

  // through is reach for a frame's element and a point of the frame's window.
  const through = (e, { x, y, force }) => {
    const found = () => climb(e, ...outward(e, x, y), force);
    const at = found();
    const view = viewOf(e);
    const isOut = ([x, y]) => x < 0 || y < 0 || x >= view.innerWidth || y >= view.innerHeight;
    if (!at.problem && !isOut(outward(e, x, y))) return at;
    intoView(e, { block: "center", inline: "center", behavior: "instant" });
    const [left, top] = outward(e, x, y);
    if (isOut([left, top])) view.scrollBy({ left: left - view.innerWidth / 2, top: top - view.innerHeight / 2, behavior: "instant" });
    return { ...found(), scrolled: true };
  };

  // cover is what lies over a point: the foremost element and what it stands in, as far
  // as the element itself, or the frame that it is in, does not stand there too.
  const cover = (e, { x, y, up }) => {
    let within = e;
    while (up-- > 0) within = frameOf(viewOf(within));
    const all = [];
    for (let at = shownAt(within, x, y)[0]; at && !holds(at, within) && all.length < 20; at = above(at)) all.push(at);
    return all;
  };

  // isFocused waits until a frame's element has the focus of its document.
  const isFocused = async (e, most) => {
    const root = rootOf(e), has = () => getter((isShadow(root) ? ShadowRoot : Document).prototype, "activeElement")(root) === e;
    for (const end = performance.now() + most; !has() && performance.now() < end; ) await pause(10);
    return has();
  };

  // scrolls says whether an element scrolls by itself along an axis. What the style says of
  // the body is often the whole page's.
  const scrolls = (e, axis) => {
    if (e === body(document) && styleOf(top(document)).overflow === "visible") return false;
    const more = axis === "X" ? e.scrollWidth - e.clientWidth : e.scrollHeight - e.clientHeight;
    return more > 0 && /auto|scroll/.test(styleOf(e)[`overflow${axis}`]);
  };
  const middle = () => {
    let at = null;
    for (let root = document; root; root = openRoot(at)) {
      const next = method((isShadow(root) ? ShadowRoot : Document).prototype, "elementFromPoint")(root, innerWidth / 2, innerHeight / 2);
      if (!next || next === at) break;
      at = next;
    }
    return at;
  };

  // scroll moves what is in an element, or in the nearest around it that scrolls, and at
  // last the page; without an element it begins in the middle of the window. What is at its
  // end leaves the rest to the next, as with a wheel.
  const scroll = (e, { x, y, to }) => {
    const move = (at) => {
      const before = [at.scrollLeft, at.scrollTop];
      if (to) method(Element.prototype, "scrollTo")(at, { top: to === "top" ? 0 : at.scrollHeight, behavior: "instant" });
      else method(Element.prototype, "scrollBy")(at, { left: x, top: y, behavior: "instant" });
      return at.scrollLeft !== before[0] || at.scrollTop !== before[1];
    };
    const page = getter(Document.prototype, "scrollingElement")(document) ?? top(document);
    for (let at = e ?? middle(); at && at !== page; at = above(at)) {
      if (!(x !== 0 && scrolls(at, "X")) && !((y !== 0 || to) && scrolls(at, "Y"))) continue;
      if (move(at) || to) return true;
    }
    return move(page);
  };

  return { reach, through, still, cover, isFocused, scroll };
}
