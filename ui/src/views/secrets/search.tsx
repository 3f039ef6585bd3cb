import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import type { SecretMount } from './paths.ts'
import { nothingFound, type SearchState, searchNames } from './search-names.ts'

const text = strings.secrets

type Props = { readonly mount: SecretMount; readonly folder: string }

/** Finds names in a folder and all below it, while the person watches, and can stop it. */
export function Search({ mount, folder }: Props) {
  const [wanted, setWanted] = useState('')
  const [state, setState] = useState<SearchState>()
  const [error, setError] = useState<unknown>()
  const running = useRef<AbortController>(undefined)
  const [isRunning, setRunning] = useState(false)
  useEffect(() => () => running.current?.abort(), [])
  const search = async (event: FormEvent) => {
    event.preventDefault()
    if (isRunning) return running.current?.abort()
    if (wanted.trim() === '') return
    const ended = new AbortController()
    running.current = ended
    setState(nothingFound)
    setError(undefined)
    setRunning(true)
    try {
      await searchNames({ mount, folder }, wanted.trim(), ended.signal, setState)
    } catch (failure) {
      if (!ended.signal.aborted) setError(failure)
    } finally {
      setRunning(false)
    }
  }
  return (
    <search className="name-search">
      <form className="one-line" onSubmit={(event) => void search(event)}>
        <Field label={text.search} hint={text.searchHint} value={wanted} onChange={setWanted} mono />
        {/* one button: the focus stays on it, and a click that cancels does not also begin anew */}
        <Button type="submit">{isRunning ? strings.cancel : text.searchAction}</Button>
      </form>
      <p role="status" aria-live={isRunning ? 'off' : 'polite'} className="hint">
        {state !== undefined && text.searched(state, isRunning)}
      </p>
      <Failure error={error} />
      {state !== undefined && state.found.length > 0 && (
        <List name="found-names" label={text.found} rows={state.found} keyOf={(path) => path}>
          {(path) => (
            <PlaceLink view="secrets" parts={[mount.path, path]}>
              {path}
            </PlaceLink>
          )}
        </List>
      )}
    </search>
  )
}
