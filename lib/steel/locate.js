// Finding elements in a document and reading them, as one expression. Like the questions
// of page.js, they are asked in a world that the page's own scripts do not reach. The
// document is shared, and names in it hide properties of forms and of the document
// itself: so these are read through their prototypes.
(() => {
  const own = (proto, name) => Object.getOwnPropertyDescriptor(proto, name);
  const getter = (proto, name) => (e) => own(proto, name).get.call(e);
  const method = (proto, name) => (e, ...args) => own(proto, name).value.call(e, ...args);
  const attribute = method(Element.prototype, "getAttribute");
  const matches = method(Element.prototype, "matches");
  const closest = method(Element.prototype, "closest");
  const isRendered = method(Element.prototype, "checkVisibility");
  const rectangles = method(Element.prototype, "getClientRects");
  const openRoot = getter(Element.prototype, "shadowRoot");
  const children = getter(Element.prototype, "children");
  const childNodes = getter(Node.prototype, "childNodes");
  const parentNode = getter(Node.prototype, "parentNode");
  const textContent = getter(Node.prototype, "textContent");
  const rootOf = method(Node.prototype, "getRootNode");
  const renderedText = getter(HTMLElement.prototype, "innerText");
  const takesText = getter(HTMLElement.prototype, "isContentEditable");
  const isConnected = getter(Node.prototype, "isConnected");
  const body = getter(Document.prototype, "body");
  const top = getter(Document.prototype, "documentElement");
  const under = (root) => (root === document ? Document : DocumentFragment).prototype;
  const isElement = (n) => n.nodeType === Node.ELEMENT_NODE;
  const fold = (text) => text.replace(/\s+/g, " ").trim();
  const text = (e) => (e instanceof HTMLElement ? renderedText(e) : textContent(e));

  // above is what an element stands in, beyond shadow roots.
  const above = (e) => {
    const up = parentNode(e);
    return up instanceof ShadowRoot ? up.host : up && isElement(up) ? up : null;
  };
  const within = (e, selector) => {
    for (let at = e; at; at = above(at)) if (matches(at, selector)) return true;
    return false;
  };

  // everything is all elements in the order in which they are seen: what an open shadow
  // root holds comes after its host.
  const everything = (root = document, all = []) => {
    for (const e of under(root).querySelectorAll.call(root, "*")) {
      all.push(e);
      const inner = openRoot(e);
      if (inner) everything(inner, all);
    }
    return all;
  };

  // A frame without a size shows nothing, whatever its own layout says.
  const isShown = () => innerWidth > 0 && innerHeight > 0;

  // isVisible says whether an element is drawn somewhere, perhaps out of sight. An option
  // of a closed list is as visible as the list.
  const isVisible = (e) => {
    if (matches(e, "option, optgroup")) e = closest(e, "select, datalist") ?? e;
    const boxless = e instanceof HTMLElement && getComputedStyle(e).display === "contents";
    if (!boxless && !isRendered(e, { visibilityProperty: true })) return false;
    for (const r of rectangles(e)) if (r.width > 0 && r.height > 0) return true;
    return Array.prototype.some.call(children(e), isVisible);
  };

  const fields =
    "input:not([type=hidden i], [type=submit i], [type=reset i], [type=button i], [type=image i]), select, textarea, [contenteditable]:not([contenteditable=false i]), " +
    ["textbox", "searchbox", "combobox", "checkbox", "radio", "switch", "slider", "spinbutton", "listbox"].map((r) => `[role=${r} i]`).join();
  const controls =
    "a[href], button, summary, option, " +
    ["button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "checkbox", "radio", "switch", "treeitem"].map((r) => `[role=${r} i]`).join();
  const mayHaveName = "[aria-label], [aria-labelledby], [alt], [title], [placeholder], input, select, textarea";
  const notText = "head, script, style, template, noscript, textarea";

  // shownIn are the nodes that stand in an element: in a slot, what is put there.
  const shownIn = (e) => {
    const given = e instanceof HTMLSlotElement ? method(HTMLSlotElement.prototype, "assignedNodes")(e, { flatten: true }) : [];
    return given.length ? given : childNodes(e);
  };

  // content is the text of a label or control as a name takes it: without what is hidden
  // and what is filled in, and with the texts of pictures.
  const content = (e, except) => {
    let all = "";
    for (const n of shownIn(e)) {
      if (n.nodeType === Node.TEXT_NODE) all += n.data;
      if (!isElement(n) || n === except || matches(n, "select, script, style, template, textarea, [aria-hidden=true i]") || !(n instanceof HTMLSlotElement || isRendered(n, { visibilityProperty: true }))) continue;
      const inner = attribute(n, "aria-label") || attribute(n, "alt") || content(n, except);
      all += getComputedStyle(n).display.startsWith("inline") ? inner : ` ${inner} `;
    }
    return all;
  };

  const labellers = (e) => {
    const ids = fold(attribute(e, "aria-labelledby") ?? "");
    const root = rootOf(e);
    if (!ids || (root !== document && !(root instanceof DocumentFragment))) return [];
    return ids.split(" ").map((id) => under(root).getElementById.call(root, id)).filter(Boolean);
  };

  // named is an element's accessible name, in the order of its sources. It is the
  // browser's own but for what style sheets write, and rare ones; for these the browser
  // is asked where nothing is found.
  const named = (e) => {
    const sources = [
      () => labellers(e).map((l) => attribute(l, "aria-label") || content(l)).join(" "),
      () => attribute(e, "aria-label"),
      () => (matches(e, "input, select, textarea, button") && e.labels ? [...e.labels].map((l) => content(l, e)).join(" ") : ""),
      () => (matches(e, "input[type=submit i], input[type=reset i], input[type=button i]") ? e.value : ""),
      () => attribute(e, "alt"),
      () => (matches(e, controls) ? content(e) : ""),
      () => attribute(e, "title"),
      () => attribute(e, "placeholder"),
    ];
    for (const source of sources) {
      const name = fold(source() ?? "");
      if (name) return name;
    }
    return "";
  };

  // byText finds the elements whose whole text or name it is. From each piece of text
  // with which the wanted one begins it goes up until there is too much.
  const byText = (all, wanted) => {
    const found = new Set(all.filter((e) => matches(e, mayHaveName) && named(e) === wanted));
    const texts = new Map();
    const known = (e) => {
      if (!texts.has(e)) texts.set(e, fold(text(e)));
      return texts.get(e);
    };
    const lower = wanted.toLowerCase();
    for (const e of all) {
      if (matches(e, notText) || closest(e, notText)) continue;
      for (const n of childNodes(e)) {
        if (n.nodeType !== Node.TEXT_NODE) continue;
        const piece = fold(n.data).toLowerCase();
        if (!piece || !lower.startsWith(piece)) continue;
        let at = e;
        while (at && known(at).length < wanted.length) at = above(at);
        if (at && known(at) === wanted) found.add(at);
      }
    }
    return all.filter((e) => found.has(e));
  };

  // controlAt is the control that an element is a part of, or the label of. The text of a
  // component may stand in the slot of one.
  const controlAt = (e) => {
    const inner = openRoot(e);
    const slot = inner && under(inner).querySelector.call(inner, "slot:not([name])");
    for (const at of slot ? [slot, e] : [e]) {
      const part = closest(at, `label, ${controls}`);
      const control = part && matches(part, "label") ? part.control : part;
      if (control) return control;
    }
    return null;
  };

  // innermost drops what holds another of the elements. A control whose name the text is
  // stands for what is in it, as a field does for its label.
  const innermost = (list, wanted) => {
    const left = new Set(list);
    for (const e of list) for (let at = above(e); at; at = above(at)) left.delete(at);
    for (const e of [...left]) {
      const control = controlAt(e);
      if (control && control !== e && isVisible(control) && named(control) === wanted) {
        left.delete(e);
        left.add(control);
      }
    }
    for (const e of [...left]) for (const l of labellers(e)) if (l !== e) left.delete(l);
    return [...left];
  };

  // isOpen says whether an element stands in no closed shadow root.
  const isOpen = (e) => {
    for (let root = rootOf(e); root !== document; root = rootOf(root.host)) if (!(root instanceof ShadowRoot) || root.mode !== "open") return false;
    return true;
  };

  const by = {
    css: (all, wanted) => all.filter((e) => matches(e, wanted)),
    testid: (all, wanted) => all.filter((e) => attribute(e, "data-testid") === wanted),
    label: (all, wanted) => all.filter((e) => matches(e, fields) && named(e) === wanted),
    text: byText,
  };

  // find returns what a selector matches: how many are visible and hidden, the document,
  // and the first few elements. Hidden ones are counted as matches where they may be used
  // and no visible one is there. The browser may have named the candidates. What is asked
  // of an element is asked at once of those which it may be.
  const find = (kind, wanted, { hidden, take, ask }, ...candidates) => {
    if (kind === "css") {
      try {
        new DocumentFragment().querySelector(wanted);
      } catch {
        return [JSON.stringify({ invalid: true }), document];
      }
    }
    const list = candidates.length ? candidates.filter((e) => isElement(e) && isOpen(e) && (kind !== "label" || matches(e, fields))) : by[kind](everything(), wanted);
    const shown = [], unseen = [];
    for (const e of list) (isShown() && isVisible(e) ? shown : unseen).push(e);
    let chosen = hidden && !shown.length ? unseen : shown;
    if (kind === "text") chosen = innermost(chosen, wanted);
    const head = { count: chosen.length, shown: shown.length > 0, hidden: unseen.length };
    if (ask) head.answers = chosen.slice(0, take).map((e) => answer(ask.method, e, ask.args));
    return [JSON.stringify(head), document, ...chosen.slice(0, Math.max(take, 5))];
  };

  const secretTokens = ["current-password", "new-password", "one-time-code", "cc-number", "cc-csc"];
  const secretFields = "input[type=password i], " + secretTokens.map((t) => `:is(input, textarea)[autocomplete~="${t}" i]`).join();
  const isSecret = (e) => matches(e, secretFields);
  const isEditable = (e) => e instanceof HTMLElement && takesText(e);

  // valueOf is what a field holds, a list where several can be chosen, and undefined
  // where there is no such thing.
  const valueOf = (e) => {
    if (matches(e, "select[multiple]")) return [...e.selectedOptions].map((o) => o.value);
    if (matches(e, "input, textarea, select, option, button, meter, progress, output, data")) return String(e.value);
    if (isEditable(e)) return text(e);
    return attribute(e, "aria-valuenow") ?? undefined;
  };

  const cut = (s, most) => {
    if (most > 0 && s.length > most) return { value: s.slice(0, most).toWellFormed(), cut: true };
    return { value: s };
  };
  const concealed = (s) => ({ value: "[hidden]", length: [...s].length });
  const wrong = { wrong: true };

  // conceal takes the values of secret fields out of a copy of markup.
  const conceal = (part) => {
    for (const e of part.querySelectorAll(secretFields)) {
      if (e.hasAttribute("value")) e.setAttribute("value", "[hidden]");
      if (matches(e, "textarea")) e.textContent = "[hidden]";
    }
    for (const t of part.querySelectorAll("template")) conceal(t.content);
  };

  // markup is an element's HTML. The copy from which values are taken belongs to no
  // page, so that nothing in it runs or is loaded.
  const markup = (e, reveal) => {
    if (reveal) return getter(Element.prototype, "outerHTML")(e);
    const elsewhere = new DOMParser().parseFromString("", "text/html");
    const copy = elsewhere.createDocumentFragment();
    copy.append(elsewhere.importNode(e, true));
    conceal(copy);
    return getter(Element.prototype, "outerHTML")(copy.firstChild);
  };

  const checkedOf = (e) => {
    if (matches(e, "input[type=checkbox i]") && e.indeterminate) return "mixed";
    if (matches(e, "input[type=checkbox i], input[type=radio i]")) return e.checked;
    if (matches(e, "option")) return e.selected;
    const state = attribute(e, "aria-checked") ?? attribute(e, "aria-pressed") ?? attribute(e, "aria-selected");
    return state === null ? undefined : state === "mixed" ? "mixed" : state === "true";
  };

  const isEnabled = (e) =>
    !matches(e, ":disabled") && !closest(e, "button:disabled, option:disabled, optgroup:disabled, select:disabled") && !within(e, "[inert], [aria-disabled=true i]");

  const readers = {
    text: (e, o) => (isSecret(e) && !o.reveal ? concealed(text(e)) : cut(text(e), o.most)),
    html: (e, o) => cut(markup(e, o.reveal), o.most),
    value: (e, o) => {
      const v = valueOf(e);
      if (v === undefined) return wrong;
      if (typeof v !== "string") return { value: v };
      return isSecret(e) && !o.reveal ? concealed(v) : cut(v, o.most);
    },
    attr: (e, o) => {
      const v = attribute(e, o.name);
      if (v === null) return { value: null };
      const holds = o.name.toLowerCase() === "value" || (v !== "" && v === valueOf(e));
      return isSecret(e) && holds && !o.reveal ? concealed(v) : cut(v, o.most);
    },
    checked: (e) => {
      const v = checkedOf(e);
      return v === undefined ? wrong : { value: v };
    },
    enabled: (e) => ({ value: isEnabled(e) }),
    visible: (e) => ({ value: isShown() && isVisible(e) }),
  };

  const methods = {
    // read is one thing about an element.
    read: (e, what, o) => readers[what](e, o),
    // source is the address of what an element leads to or shows; "" is none.
    source: (e) => {
      const link = closest(e, "a[href], area[href]");
      return String(link ? link.href : (e.currentSrc || e.src) ?? "");
    },
    state: (e) => ({ connected: isConnected(e), visible: isShown() && isVisible(e) }),
  };
  const answer = (name, e, args) => methods[name](e, ...args);
  const readDocument = (what, o) => readers[what](what === "html" ? top(document) : body(document) ?? top(document), o);

  // extended adds the questions of another script, which are made of what is here.
  const kit = {
    getter, method, attribute, matches, closest, openRoot, body, top, children, parentNode, rectangles, rootOf, isConnected, isElement, isShown, isVisible, isEnabled,
    isSecret, isEditable, fold, text, valueOf, checkedOf,
  };
  const extended = (more) => {
    Object.assign(methods, more(kit));
    return questions;
  };
  const questions = { find, answer, readDocument, extended };

  return questions;
})()
