const { chromium } = require("playwright-core");

(async () => {
  const browser = await chromium.connectOverCDP(process.env.KXM_STEEL_CDP_URL);
  const context = browser.contexts()[0];
  const page = context.pages()[0];
  await page.goto(process.argv[2]);
  console.log("title:", await page.title());
  const other = await context.newPage();
  await other.goto(process.argv[2] + "about");
  const alone = await browser.newContext();
  await (await alone.newPage()).goto(process.argv[2] + "about");
  console.log("pages:", context.pages().length, alone.pages().length);
  await other.close();
  await browser.close();
  const again = await chromium.connectOverCDP(process.env.KXM_STEEL_CDP_HTTP);
  console.log("title:", await again.contexts()[0].pages()[0].title());
  await again.close();
})().catch((e) => { console.error(e); process.exit(9); });
