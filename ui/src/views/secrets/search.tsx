import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { useWork } from '../../components/use-work.ts'
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
  const { run, cancel, isRunning, error } = useWork()
  const search = (event: FormEvent) => {
    event.preventDefault()
    if (isRunning) return cancel()
    if (wanted.trim() === '') return
    setState(nothingFound)
    void run((signal) => searchNames({ mount, folder }, wanted.trim(), signal, setState))
  }
  return (
    <search className="name-search">
      <form className="one-line" onSubmit={search}>
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
