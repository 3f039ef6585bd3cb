import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useWork } from '../../components/use-work.ts'
import { addressOfNamespace, useNamespace } from '../../session/namespace.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useNamespacesBelow } from '../../shell/namespaces.tsx'
import { hashOf, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { type Refused, type Searched, searchRefusal } from './search-refusal.ts'

const text = strings.logins.find

type Props = {
  readonly mounts: readonly string[]
  /** Types of mounts that keep failures. */
  readonly types: readonly string[]
}

/** Leads from the id that somebody was told at a refused login to its cause, whichever mount refused it. */
export function FindRefusal({ mounts, types }: Props) {
  const client = useQueryClient()
  const here = useNamespace()
  const { data, error: refusal, areAll } = useNamespacesBelow()
  const below = data ?? []
  const paths = mounts.map((mount) => `auth/${mount}/failures`)
  const { can } = useCapabilities(paths)
  const go = useGo()
  const [id, setId] = useState('')
  const [searched, setSearched] = useState<Searched>()
  const { run, cancel, isRunning, error } = useWork()
  // a search before the namespaces are known would find nothing
  if (data === undefined && refusal === null) return null
  if (below.length === 0 && !paths.some((path) => can(path, 'read'))) return null
  const open = ({ below: at, mount }: Refused) => {
    const target = { view: 'logins', parts: [mount, 'failures', id.trim()] }
    if (at === '') return go(target)
    // another namespace is another document
    const namespace = [here, at].filter((part) => part !== '').join('/')
    location.assign(addressOfNamespace(namespace, hashOf(target)))
  }
  const find = (event: FormEvent) => {
    event.preventDefault()
    if (isRunning) return cancel()
    setSearched({ namespaces: 0, mounts: 0, end: 'none' })
    void run(async (signal) => {
      const asked = { id: id.trim(), types, below, areAll, here }
      const found = await searchRefusal(asked, { client, signal, report: setSearched })
      if (found === undefined) return
      setSearched(undefined)
      open(found)
    })
  }
  return (
    <search aria-label={text.title}>
      <form className="one-line" onSubmit={find} autoComplete="off">
        <Field label={text.label} mono value={id} onChange={setId} isRequired />
        {/* one button: the focus stays on it, and a click that cancels does not also begin anew */}
        <Button type="submit">{isRunning ? strings.cancel : text.find}</Button>
      </form>
      <p className="hint" role="status" aria-live={isRunning ? 'off' : 'polite'}>
        {searched !== undefined && text.searched(searched, isRunning)}
      </p>
      <Failure error={error} />
    </search>
  )
}
