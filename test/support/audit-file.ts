import { readFileSync } from 'node:fs'
import type { Client, Json } from './client.ts'

/** An enabled file device. */
export type AuditFile = {
  readonly path: string
  text(): string
  /** All request and response entries. */
  entries(): Json[]
  /** The entries that `call` has written. */
  during(call: () => Promise<unknown>): Promise<Json[]>
}

/** Enables a file device at `sys/audit/<name>`. */
export async function enableAuditFile(
  root: Client,
  path: string,
  { name = 'file', options = {} }: { name?: string; options?: Record<string, string> } = {},
): Promise<AuditFile> {
  const enabled = await root.write(`sys/audit/${name}`, {
    type: 'file',
    options: { file_path: path, ...options },
  })
  if (enabled.status !== 204) throw new Error(`could not enable an audit device: ${enabled.text}`)
  const text = () => readFileSync(path, 'utf8')
  const entries = entriesOf(path)
  return {
    path,
    text,
    entries,
    during: async (call) => {
      const before = entries().length
      await call()
      return entries().slice(before)
    },
  }
}

/** Returns all entries of a file that only grows, each time. It parses only those that are new. */
function entriesOf(path: string): () => Json[] {
  const entries: Json[] = []
  let parsed = 0
  return () => {
    const bytes = readFileSync(path)
    const end = bytes.lastIndexOf('\n') + 1
    for (const line of bytes.toString('utf8', parsed, end).split('\n').slice(0, -1)) {
      const entry: Json = JSON.parse(line)
      if (String(entry['type']) === 'request' || String(entry['type']) === 'response') entries.push(entry)
    }
    parsed = end
    return [...entries]
  }
}
