// What is put into fields, as questions beside those of locate.js. Each begins with one
// that only looks: it is asked of every element that may be meant.
({ getter, method, matches, closest, rootOf, parentNode, isElement, isEnabled, isSecret, isEditable, fold, text, checkedOf }) => {
  const setter = (proto, name) => (e, value) => Object.getOwnPropertyDescriptor(proto, name).set.call(e, value);
  const focus = method(HTMLElement.prototype, "focus");
  const send = method(EventTarget.prototype, "dispatchEvent");
  const notTyped = ["checkbox", "radio", "file", "button", "submit", "reset", "image", "hidden"].map((t) => `[type=${t} i]`).join();
  const isInput = (e) => matches(e, `input:not(${notTyped})`);
  const isArea = (e) => matches(e, "textarea");
  const prototypeOf = (e) => (isArea(e) ? HTMLTextAreaElement : HTMLInputElement).prototype;

  // rootOfEditor is the element that is edited when a part of it is named.
  const rootOfEditor = (e) => {
    for (let up = parentNode(e); up && isElement(up) && isEditable(up); up = parentNode(up)) e = up;
    return e;
  };

  // field says what kind of thing may be typed into an element.
  const field = (e) => ({
    kind: isInput(e) || isArea(e) ? "field" : isEditable(e) ? "rich" : "",
    secret: isSecret(e) || isSecret(rootOfEditor(e)),
    disabled: !isEnabled(e),
    lines: isArea(e) || isEditable(e),
    fixed: matches(e, "input, textarea") ? getter(prototypeOf(e), "readOnly")(e) : matches(e, "[aria-readonly=true i]"),
  });

  const changed = (e) => {
    send(e, new InputEvent("input", { bubbles: true, composed: true, inputType: "insertReplacementText" }));
    send(e, new Event("change", { bubbles: true }));
  };

  // fillIn replaces what a field holds. A field takes no more than a person could type.
  const fillIn = (e, value) => {
    focus(e);
    const most = getter(prototypeOf(e), "maxLength")(e);
    setter(prototypeOf(e), "value")(e, most >= 0 ? value.slice(0, most) : value);
    changed(e);
    return holds(e, value);
  };

  // holds says how long the value of a field is, in characters, and whether it is this
  // one. The forms in which a browser keeps numbers, colours and lines are the same.
  const plain = (s) => s.replace(/\r\n?/g, "\n");
  const isSame = (e, is, wanted) => {
    if (is === wanted) return true;
    if (matches(e, "input[type=color i]")) return is.toLowerCase() === wanted.toLowerCase();
    if (matches(e, "input[type=number i], input[type=range i]")) return is !== "" && wanted.trim() !== "" && Number(is) === Number(wanted);
    if (isArea(e)) return is === plain(wanted);
    if (isInput(e)) return false;
    // An editor shows a line end as a new paragraph, with a gap or without, and spaces as one.
    const lines = (s) => plain(s).replace(/[ \t\u00a0]+/g, " ").replace(/\n+/g, "\n").replace(/\n$/, "");
    return lines(is) === lines(wanted);
  };
  const holds = (e, wanted) => {
    // An editor that holds nothing may show a space without width.
    const is = isInput(e) || isArea(e) ? getter(prototypeOf(e), "value")(e) : text(e).replace(/[\u200b\ufeff]/g, "").replace(/\n$/, "");
    return { length: [...is].length, same: isSame(e, is, wanted) };
  };

  // focusOn gives an element the focus. One that did not have it is typed into at its end.
  const active = (e) => {
    const root = rootOf(e);
    return getter((root === document ? Document : ShadowRoot).prototype, "activeElement")(root);
  };
  const isFocusedIn = (e) => {
    const at = active(e);
    return at === e || (at !== null && isEditable(e) && at.contains(e));
  };
  const focusOn = (e) => {
    if (isFocusedIn(e) && document.hasFocus()) return true;
    const had = isFocusedIn(e);
    window.focus();
    focus(e);
    if (!isFocusedIn(e)) return false;
    if (had) return true;
    if (isInput(e) || isArea(e)) {
      const end = getter(prototypeOf(e), "value")(e).length;
      try {
        method(prototypeOf(e), "setSelectionRange")(e, end, end);
      } catch {
        // A date or a number has no place of its own for each character.
      }
    } else if (isEditable(e)) {
      getSelection().selectAllChildren(e);
      getSelection().collapseToEnd();
    }
    return true;
  };

  // selectIn gives an editor the focus and selects all that it holds. What an editor shows
  // is made of a model of its own, which only what the browser tells of keys and texts
  // changes: so it is written by these, and replaced told of it at last.
  const selectIn = (e) => {
    if (!focusOn(e)) return false;
    getSelection().selectAllChildren(rootOfEditor(e));
    return true;
  };
  const replaced = (e, wanted) => {
    send(e, new Event("change", { bubbles: true }));
    return holds(e, wanted);
  };

  // options are those of a list that are meant: by value, then by visible label.
  const options = (e) => [...getter(HTMLSelectElement.prototype, "options")(e)];
  const labelOf = (o) => fold(getter(HTMLOptionElement.prototype, "label")(o));
  const valueOfOption = (o) => getter(HTMLOptionElement.prototype, "value")(o);
  const meant = (e, wanted) => {
    const all = options(e);
    return wanted.map((w) => all.find((o) => valueOfOption(o) === w) ?? all.find((o) => labelOf(o) === fold(w)));
  };
  const list = (e, wanted) => {
    if (!matches(e, "select")) return { kind: "" };
    const found = meant(e, wanted);
    const multiple = getter(HTMLSelectElement.prototype, "multiple")(e);
    return {
      kind: "select", multiple, disabled: !isEnabled(e),
      missing: found.findIndex((o) => !o), off: found.findIndex((o) => o && matches(o, ":disabled, optgroup:disabled > *")),
      labels: options(e).slice(0, 10).map(labelOf), count: options(e).length,
    };
  };
  const chosen = (e) => options(e).filter((o) => getter(HTMLOptionElement.prototype, "selected")(o));
  const choose = (e, wanted) => {
    const found = meant(e, wanted);
    const before = chosen(e);
    if (before.length !== new Set(found).size || !before.every((o) => found.includes(o))) {
      focus(e);
      for (const o of options(e)) setter(HTMLOptionElement.prototype, "selected")(o, found.includes(o));
      send(e, new Event("input", { bubbles: true, composed: true }));
      send(e, new Event("change", { bubbles: true }));
    }
    return found.map(valueOfOption);
  };
  const chosenNow = (e) => chosen(e).map(valueOfOption);

  // box is what a thing that can be checked is.
  const roles = ["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"].map((r) => `[role=${r} i]`).join();
  const box = (e) => {
    const radio = matches(e, "input[type=radio i], [role=radio i], [role=menuitemradio i]");
    if (!matches(e, `input[type=checkbox i], input[type=radio i], [aria-checked], ${roles}`)) return { kind: "" };
    const is = checkedOf(e) ?? false;
    return { kind: radio ? "radio" : "checkbox", checked: is === true, mixed: is === "mixed", disabled: !isEnabled(e) };
  };
  const becomes = async (e, wanted, most) => {
    const is = () => box(e).checked === wanted && !box(e).mixed;
    for (const end = performance.now() + most; !is() && performance.now() < end; ) await new Promise((over) => setTimeout(over, 10));
    return box(e);
  };
  const labels = (e) => [...(e.labels ?? [])];

  // Files are put together from pieces, which are kept in this world alone.
  const picker = (e) => ({
    kind: matches(e, "input[type=file i]") ? "file" : "", disabled: !isEnabled(e),
    multiple: matches(e, "input[multiple], input[webkitdirectory]"),
  });
  const addPiece = (e, at, piece) => {
    const all = (globalThis.kxmPieces ??= new WeakMap());
    if (!all.has(e)) all.set(e, []);
    const raw = atob(piece), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    (all.get(e)[at] ??= []).push(bytes);
  };
  const giveFiles = (e, names) => {
    const all = globalThis.kxmPieces?.get(e) ?? [];
    globalThis.kxmPieces?.delete(e);
    const carried = new DataTransfer();
    names.forEach(({ name, type }, i) => carried.items.add(new File(all[i] ?? [], name, { type })));
    setter(HTMLInputElement.prototype, "files")(e, carried.files);
    const given = [...getter(HTMLInputElement.prototype, "files")(e)].map((f) => ({ name: f.name, bytes: f.size }));
    send(e, new Event("input", { bubbles: true, composed: true }));
    send(e, new Event("change", { bubbles: true }));
    return given;
  };

  // A label stands for its field, and so does what is in it.
  const fields = "input, select, textarea, button, [role]";
  const fieldOf = (e) => {
    const label = matches(e, fields) || isEditable(e) ? null : closest(e, "label");
    return (label && getter(HTMLLabelElement.prototype, "control")(label)) ?? e;
  };
  const methods = { field, fillIn, holds, focusOn, selectIn, replaced, list, choose, chosenNow, box, becomes, labels, picker, addPiece, giveFiles };
  return Object.fromEntries(Object.entries(methods).map(([name, ask]) => [name, (e, ...args) => ask(fieldOf(e), ...args)]));
}
