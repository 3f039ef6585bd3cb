import { useState } from 'react'
import { announce } from '../../components/announce.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { type Generate, type Values, writeSecret } from './calls.ts'
import { type Conflict, conflictOf, isConflict } from './conflict.ts'
import type { SecretPlace } from './place.ts'

/** Values that are being edited. */
export type Draft = {
  readonly values: Values
  /** The version that they replace; undefined if the token may not know it. */
  readonly cas: number | undefined
  /** Fields whose values the server makes. */
  readonly generate?: Generate
}

/** The state of writing one secret. Nothing typed is lost: not by a conflict, and not by taking the other side. */
export function useWriting(place: SecretPlace) {
  const go = useGo()
  const [draft, setDraft] = useState<Draft>()
  const [conflict, setConflict] = useState<Conflict & { readonly generate: Generate }>()
  /** The person's own values, after they took those of somebody else. */
  const [putAside, setPutAside] = useState<Values>()
  useUnsaved(conflict !== undefined || putAside !== undefined)
  const edit = (begun: Draft | undefined) => {
    setDraft(begun)
    setConflict(undefined)
  }
  const save = async (values: Values, { values: base, cas, generate = {} }: Draft) => {
    const made = Object.fromEntries(Object.entries(generate).filter(([name]) => !(name in values)))
    const options = {
      ...(cas !== undefined && { cas }),
      ...(Object.keys(made).length > 0 && { generate: made }),
    }
    try {
      await writeSecret({ params: place.params, body: { data: values, options } })
    } catch (refusal) {
      if (!isConflict(refusal)) throw refusal
      setConflict({ ...(await conflictOf(place, base, values)), generate: made })
      await place.changed()
      return
    }
    announce(strings.saved)
    // the next edit begins with what is stored now
    await place.changed()
    edit(undefined)
    setPutAside(undefined)
    go({ view: 'secrets', parts: [place.mount, place.path] })
  }
  /** Goes on with one's own values, in the knowledge of the others. */
  const editAgain = (values: Values) => {
    if (conflict === undefined) return
    setPutAside(values)
    edit({ values, cas: conflict.version, generate: conflict.generate })
  }
  const takeTheirs = () => {
    setPutAside(conflict?.mine)
    edit(undefined)
    go({ view: 'secrets', parts: [place.mount, place.path] })
  }
  return { draft, conflict, putAside, edit, editAgain, save, takeTheirs }
}
