import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { resolve } from 'node:path'

// The server. Before each step, a change of a file in its folder or a text it prints, it copies the folder to
// `<step>` in the folder of its argument, and what it has printed so far to `<step>.printed`.
const copies = process.argv[2] ?? ''
const folder = process.cwd()
const opened = new Set<unknown>()
let steps = 0
let printed = ''
let isCopying = false

const step = () => {
  if (isCopying) return
  isCopying = true
  const copy = `${copies}/${steps++}`
  fs.cpSync(folder, copy, { recursive: true })
  fs.writeFileSync(`${copy}.printed`, printed)
  isCopying = false
}

const names = [
  'mkdirSync',
  'openSync',
  'writeFileSync',
  'fsyncSync',
  'linkSync',
  'renameSync',
  'rmSync',
  'unlinkSync',
  'closeSync',
] as const
// each original is called with its arguments
const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>
for (const name of names) {
  const original = functions[name]
  functions[name] = (...args) => {
    const [target] = args
    const isOurs = opened.has(target) || (typeof target === 'string' && resolve(target).startsWith(folder))
    if (isOurs && name !== 'closeSync') step()
    const result = original?.(...args)
    if (isOurs && name === 'openSync') opened.add(result)
    else if (name === 'closeSync') opened.delete(target)
    return result
  }
}
syncBuiltinESMExports()

const write = process.stdout.write.bind(process.stdout)
process.stdout.write = (text: string | Uint8Array, ...more: unknown[]): boolean => {
  step()
  // output is written before the next step
  fs.writeSync(1, String(text))
  printed += String(text)
  step()
  return write('', ...(more as []))
}

const { run } = await import('../../src/process/run.ts')
await run([], process.env, new AbortController())
