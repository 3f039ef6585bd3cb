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
  const entries = () =>
    text()
      .trimEnd()
      .split('\n')
      .map((line): Json => JSON.parse(line))
      .filter((entry) => String(entry['type']) === 'request' || String(entry['type']) === 'response')
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
