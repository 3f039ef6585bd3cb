import { useCallback, useState } from 'react'
import * as v from 'valibot'
import type { ShownMessage } from '../api/messages.ts'

/** Which messages this browser has dismissed: their ids, each with a hash of its text and of who read it. */
const key = 'gatehouse.dismissed'
const stored = v.record(v.string(), v.string())
const most = 500

function read(): Readonly<Record<string, string>> {
  try {
    return v.parse(stored, JSON.parse(localStorage.getItem(key) ?? '{}'))
  } catch {
    return {}
  }
}

/** FNV-1a: it tells whether a text has changed, and hides nothing that is secret. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return hash.toString(16)
}

const markOf = ({ title, text, link }: ShownMessage, reader: string): string =>
  hashOf(JSON.stringify([title, text, link, reader]))

type Dismissals = {
  readonly isDismissed: (message: ShownMessage) => boolean
  /** `forGood`: until the text changes; else until the page is loaded again. */
  readonly dismiss: (message: ShownMessage, forGood: boolean) => void
}

/** `reader` tells people apart who share a browser. */
export function useDismissals(reader: string): Dismissals {
  const [now, setNow] = useState<Readonly<Record<string, string>>>(read)
  const isDismissed = useCallback(
    (message: ShownMessage) => now[message.id] === markOf(message, reader),
    [now, reader],
  )
  const dismiss = useCallback(
    (message: ShownMessage, forGood: boolean) => {
      const entry = { [message.id]: markOf(message, reader) }
      setNow((before) => ({ ...before, ...entry }))
      if (!forGood) return
      const all = Object.entries({ ...read(), ...entry })
      localStorage.setItem(key, JSON.stringify(Object.fromEntries(all.slice(-most))))
    },
    [reader],
  )
  return { isDismissed, dismiss }
}
