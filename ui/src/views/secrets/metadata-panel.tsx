import { useState } from 'react'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Time } from '../../components/time.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { visible } from '../../components/visible.ts'
import { strings } from '../../strings.ts'
import { type Metadata, readMetadata, writeMetadata } from './calls.ts'
import { isMetadataConflict } from './conflict.ts'
import { MetadataConflict } from './metadata-conflict.tsx'
import { Notes, notesOf, problemOf, recordOf } from './notes.tsx'
import { endpointPath, type SecretPlace } from './place.ts'

const text = strings.secrets

type Props = { readonly place: SecretPlace; readonly metadata: Metadata }

/** The settings of a secret, and what its owners have noted. */
export function MetadataPanel({ place, metadata }: Props) {
  const [isEdited, setEdited] = useState(false)
  const mayWrite = place.can(endpointPath(place, 'metadata'), 'update')
  return (
    <section className="panel" aria-labelledby="metadata">
      <h2 id="metadata">{text.metadata}</h2>
      {isEdited ? (
        <Settings place={place} metadata={metadata} onDone={() => setEdited(false)} />
      ) : (
        <>
          <Facts metadata={metadata} />
          {mayWrite && (
            <div className="actions">
              <Button onPress={() => setEdited(true)}>{text.editMetadata}</Button>
            </div>
          )}
        </>
      )}
    </section>
  )
}

function Facts({ metadata }: { readonly metadata: Metadata }) {
  const notes = Object.entries(metadata.custom_metadata ?? {})
  return (
    <dl className="facts">
      <dt>{text.maxVersions}</dt>
      <dd>{metadata.max_versions === 0 ? text.likeMount : metadata.max_versions}</dd>
      <dt>{text.casRequired}</dt>
      <dd>{metadata.cas_required ? text.yes : text.no}</dd>
      <dt>{text.deleteAfter}</dt>
      <dd>
        {metadata.effective_delete_version_after === '0s'
          ? text.never
          : metadata.effective_delete_version_after}
      </dd>
      <dt>{text.updated}</dt>
      <dd>
        <Time at={metadata.updated_time} /> ({visible(metadata.last_updated_by.actor)})
      </dd>
      {notes.map(([name, value]) => (
        <div className="fact" key={name}>
          <dt className="mono">{visible(name)}</dt>
          <dd>{visible(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

type SettingsProps = Props & { readonly onDone: () => void }

function Settings({ place, metadata, onDone }: SettingsProps) {
  const [maxVersions, setMaxVersions] = useState(String(metadata.max_versions))
  const [after, setAfter] = useState(metadata.delete_version_after)
  const [isCasRequired, setCasRequired] = useState(metadata.cas_required)
  const [notes, setNotes] = useState(() => notesOf(metadata.custom_metadata ?? {}))
  const areNotesGood = notes.every((note) => problemOf(notes, note) === undefined)
  const [error, setError] = useState<unknown>()
  /** Those of somebody else, who was faster. */
  const [theirs, setTheirs] = useState<Metadata>()
  const settings = {
    max_versions: Number(maxVersions),
    cas_required: isCasRequired,
    delete_version_after: after,
    custom_metadata: recordOf(notes),
  }
  useUnsaved([maxVersions, after, isCasRequired, notes])
  const save = useAction(async () => {
    try {
      await writeMetadata({
        params: place.params,
        body: {
          ...settings,
          // somebody may have changed it since: the server refuses then
          metadata_cas: (theirs ?? metadata).current_metadata_version,
        },
      })
      await place.changed()
      announce(strings.saved)
      onDone()
    } catch (failure) {
      const isConflict = isMetadataConflict(failure)
      setError(isConflict ? undefined : failure)
      if (isConflict) setTheirs((await readMetadata({ params: place.params })).data)
    }
  })
  const takeTheirs = async () => {
    await place.changed()
    onDone()
  }
  return (
    <form className="settings" onSubmit={(event) => void save(event)}>
      <Field
        label={text.maxVersions}
        hint={text.maxVersionsHint}
        type="number"
        value={maxVersions}
        onChange={setMaxVersions}
      />
      <Field label={text.deleteAfter} hint={text.deleteAfterHint} value={after} onChange={setAfter} />
      <label className="check-field">
        <input
          type="checkbox"
          checked={isCasRequired}
          onChange={({ target }) => setCasRequired(target.checked)}
        />
        {text.casRequired}
      </label>
      <Notes notes={notes} onChange={setNotes} />
      <Failure error={error} />
      {theirs !== undefined && (
        <MetadataConflict theirs={theirs} mine={settings} onTakeTheirs={() => void takeTheirs()} />
      )}
      <div className="actions">
        <Button type="submit" kind="primary" isDisabled={!areNotesGood}>
          {theirs === undefined ? text.save : text.metadataConflict.saveMine}
        </Button>
        <Button onPress={onDone}>{strings.cancel}</Button>
      </div>
    </form>
  )
}
