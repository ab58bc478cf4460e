// A program that signs and verifies with the libraries of others: it reads one
// JSON request per line and answers with one line each.
import { createInterface } from "node:readline";
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import * as standard from "standardwebhooks";
import * as svix from "svix";

// Scheme v1a, which neither library has, with Node's own Ed25519.
const prefix = { pkcs8: "302e020100300506032b657004220420", spki: "302a300506032b6570032100" };
const raw = (text) => Buffer.from(text.slice(5), "base64");
const key = (type, create, bytes) =>
  create({ key: Buffer.concat([Buffer.from(prefix[type], "hex"), bytes]), format: "der", type });
const content = (r) => Buffer.from(`${r.id}.${r.timestamp}.${r.body}`);
const ed25519 = {
  sign: (r) =>
    "v1a," + sign(null, content(r), key("pkcs8", createPrivateKey, raw(r.secret).subarray(0, 32))).toString("base64"),
  verify(r) {
    const open = key("spki", createPublicKey, raw(r.secret));
    const entries = r.signature.split(" ").filter((e) => e.startsWith("v1a,"));
    if (!entries.some((e) => verify(null, content(r), open, Buffer.from(e.slice(4), "base64")))) {
      throw new Error("no signature matches");
    }
  },
};
const library = (Webhook) => ({
  sign: (r) => new Webhook(r.secret).sign(r.id, new Date(r.timestamp * 1000), r.body),
  verify(r) {
    new Webhook(r.secret).verify(r.body, {
      "webhook-id": r.id,
      "webhook-timestamp": String(r.timestamp),
      "webhook-signature": r.signature,
    });
  },
});
const peers = { standardwebhooks: library(standard.Webhook), svix: library(svix.Webhook), ed25519 };

for await (const line of createInterface({ input: process.stdin })) {
  const r = JSON.parse(line);
  let answer;
  try {
    answer = { value: peers[r.peer][r.act](r) ?? "" };
  } catch (e) {
    answer = { error: String(e.message || e) };
  }
  console.log(JSON.stringify(answer));
}
