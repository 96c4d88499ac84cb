(() => {
  const meta = name => document.querySelector(`meta[name="${name}"]`)?.content ?? null;
  const parse = html => new DOMParser().parseFromString(html, "text/html");

  // The server draws a pointer into each page; here it is in what is read alone.
  const marked = document.documentElement.cloneNode(true);
  const pointer = document.createElement("div");
  pointer.id = "__cursor__";
  pointer.style.cssText = "position: fixed; top: 0px; left: 0px; width: 20px; height: 20px;";
  (marked.querySelector("body") ?? marked).append(pointer);
  const html = marked.outerHTML;

  const cleaned = parse(html).documentElement;
  cleaned.querySelectorAll("script, style, noscript, template, svg, link, meta").forEach(e => e.remove());
  const kept = ["href", "src", "alt", "title", "id"];
  for (const e of cleaned.querySelectorAll("*")) for (const a of [...e.attributes]) if (!kept.includes(a.name)) e.removeAttribute(a.name);

  const fold = text => text.replace(/\s+/g, " ");
  const inner = node => [...node.childNodes].map(markdown).join("");
  const markdown = node => {
    if (node.nodeType == Node.TEXT_NODE) return fold(node.data);
    if (node.nodeType != Node.ELEMENT_NODE || node.id == "__cursor__") return "";
    const name = node.localName, text = name == "pre" ? node.textContent : inner(node);
    if (/^h[1-6]$/.test(name)) return "\n\n" + "#".repeat(name[1]) + " " + text.trim() + "\n\n";
    switch (name) {
      case "a": return node.hasAttribute("href") ? `[${text.trim()}](${new URL(node.getAttribute("href"), location.href)})` : text;
      case "br": return "\n";
      case "code": return "`" + text + "`";
      case "li": return "\n- " + text.trim();
      case "pre": return "\n\n```\n" + text + "\n```\n\n";
      case "tr": return "\n| " + [...node.children].map(c => fold(c.textContent).trim()).join(" | ") + " |";
      case "article": case "div": case "form": case "main": case "ol": case "p": case "section": case "table": case "ul": return "\n\n" + text + "\n\n";
    }
    return text;
  };
  const content = cleaned.querySelector("main, article") ?? cleaned.querySelector("body") ?? cleaned;
  return {
    html, cleaned_html: cleaned.outerHTML, readability: content.innerHTML,
    markdown: inner(content).replace(/ *\n */g, "\n").replace(/\n{3,}/g, "\n\n").trim(),
    links: [...document.links].map(l => ({ url: l.href, text: l.textContent.trim() })),
    metadata: {
      title: document.title, language: document.documentElement.lang, urlSource: location.href, timestamp: new Date().toISOString(),
      description: meta("description"), keywords: meta("keywords"), author: meta("author"), statusCode: 200,
    },
  };
})()
