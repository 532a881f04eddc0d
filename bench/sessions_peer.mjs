// The peer's side of `bench.sessions`, over its public SDK. Prints its numbers as JSON in the last line.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [job, path, count] = process.argv.slice(2);
const pkg = JSON.parse(readFileSync(join(process.env.PI_PKG, "package.json"), "utf8"));
const entry = pkg.exports?.["."]?.import ?? pkg.main;
const { SessionManager } = await import(pathToFileURL(join(process.env.PI_PKG, entry)).href);

const begin = performance.now();
let things = 0;
if (job === "context") {
  things = SessionManager.open(path).buildSessionContext().messages.length;
} else if (job === "list") {
  things = (await SessionManager.list(process.cwd(), path)).length;
} else {
  const session = SessionManager.open(path);
  for (let n = 0; n < Number(count); n++) {
    session.appendMessage({ role: "user", content: [{ type: "text", text: `message ${n}` }], timestamp: Date.now() });
    things++;
  }
}
const seconds = (performance.now() - begin) / 1000;
console.log(JSON.stringify({ things, seconds, mb: process.resourceUsage().maxRSS / 1000 }));
