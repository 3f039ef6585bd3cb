import { useState } from 'react'
import { useGo } from '../../shell/use-place.tsx'
import { type Values, writeSecret } from './calls.ts'
import { type Conflict, conflictOf, isConflict } from './conflict.ts'
import type { SecretPlace } from './place.ts'

/** Values that are being edited. */
export type Draft = {
  readonly values: Values
  /** The version that they replace; undefined if the token may not know it. */
  readonly cas: number | undefined
}

/** The state of writing one secret. Nothing typed is lost: not by a conflict, and not by taking the other side. */
export function useWriting(place: SecretPlace) {
  const go = useGo()
  const [draft, setDraft] = useState<Draft>()
  const [conflict, setConflict] = useState<Conflict>()
  /** The person's own values, after they took those of somebody else. */
  const [putAside, setPutAside] = useState<Values>()
  const edit = (begun: Draft | undefined) => {
    setDraft(begun)
    setConflict(undefined)
  }
  const save = async (values: Values, { values: base, cas }: Draft) => {
    try {
      await writeSecret({
        params: place.params,
        body: { data: values, options: cas === undefined ? {} : { cas } },
      })
    } catch (refusal) {
      if (!isConflict(refusal)) throw refusal
      setConflict(await conflictOf(place, base, values))
      await place.changed()
      return
    }
    edit(undefined)
    setPutAside(undefined)
    await place.changed()
    go({ view: 'secrets', parts: [place.mount, place.path] })
  }
  const takeTheirs = () => {
    setPutAside(conflict?.mine)
    edit(undefined)
    go({ view: 'secrets', parts: [place.mount, place.path] })
  }
  return { draft, conflict, putAside, edit, save, takeTheirs }
}
