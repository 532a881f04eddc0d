// The peer's side of `bench.harness`, over its public SDK. Prints its numbers as JSON in the last line.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const given = JSON.parse(process.argv[2]);
const pkg = JSON.parse(readFileSync(join(process.env.PI_PKG, "package.json"), "utf8"));
const entry = pkg.exports?.["."]?.import ?? pkg.main;
const { createAgentSession, DefaultResourceLoader, ModelRuntime, SessionManager, SettingsManager } = await import(
  pathToFileURL(join(process.env.PI_PKG, entry)).href
);

const cwd = given.folder;
const agentDir = join(given.folder, "agent");
const modelRuntime = await ModelRuntime.create({
  authPath: join(agentDir, "auth.json"),
  modelsPath: join(agentDir, "models.json"),
});
const model = modelRuntime.getModel("stub", given.short);
const talkative = modelRuntime.getModel("stub", given.long);

async function make() {
  const settingsManager = SettingsManager.inMemory({});
  const resourceLoader = new DefaultResourceLoader({
    cwd,
    agentDir,
    settingsManager,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
  });
  await resourceLoader.reload();
  const { session } = await createAgentSession({
    cwd,
    agentDir,
    model,
    thinkingLevel: "off",
    modelRuntime,
    settingsManager,
    resourceLoader,
    tools: ["read", "bash", "edit", "write"],
    sessionManager: SessionManager.create(cwd, join(given.folder, "sessions")),
  });
  return session;
}

async function inTurn(jobs, atOnce) {
  let next = 0;
  const work = async () => {
    while (next < jobs.length) await jobs[next++]();
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function resident() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().rss / 1000;
}

const now = () => performance.now() / 1000;

await (await make()).prompt("Warm up.");
const before = resident();
let begin = now();
const sessions = [];
for (let i = 0; i < given.count; i++) sessions.push(await make());
const made = now() - begin;
const kbMade = (resident() - before) / given.count;
begin = now();
await inTurn(sessions.map((session) => () => session.prompt("Hello.")), given.atOnce);
const turns = given.count / (now() - begin);
const kbIdle = (resident() - before) / given.count;

const delays = [];
const streaming = sessions.slice(0, given.atOnce);
for (const session of streaming) {
  await session.setModel(talkative);
  session.subscribe((event) => {
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
      const at = (performance.timeOrigin + performance.now()) / 1000;
      delays.push(at - Number(event.assistantMessageEvent.delta));
    }
  });
}
await Promise.all(streaming.map((session) => session.prompt("Go on.")));
delays.sort((a, b) => a - b);
const part = (p) => 1000 * delays[Math.floor(p * delays.length)];
console.log(JSON.stringify({ made, kb_made: kbMade, kb_idle: kbIdle, turns, p50: part(0.5), p99: part(0.99) }));
process.exit(0);
