const puppeteer = require("puppeteer-core");

(async () => {
  const browser = await puppeteer.connect({ browserWSEndpoint: process.env.KXM_STEEL_CDP_URL });
  const page = (await browser.pages())[0];
  await page.goto(process.argv[2]);
  console.log("title:", await page.title());
  const other = await browser.newPage();
  await other.goto(process.argv[2] + "about");
  const alone = await browser.createBrowserContext();
  await (await alone.newPage()).goto(process.argv[2] + "about");
  console.log("pages:", (await browser.defaultBrowserContext().pages()).length, (await alone.pages()).length);
  await other.close();
  await alone.close();
  await browser.close();
  const again = await puppeteer.connect({ browserWSEndpoint: process.env.KXM_STEEL_CDP_URL });
  console.log("title:", await (await again.pages())[0].title());
  await again.disconnect();
})().catch((e) => { console.error(e); process.exit(9); });
