import { Button } from '../../components/button.tsx'
import { Time } from '../../components/time.tsx'
import { visible } from '../../components/visible.ts'
import { ChangedFields } from '../../history/changed-fields.tsx'
import { strings } from '../../strings.ts'
import type { Metadata, Values } from './calls.ts'

const text = strings.secrets.metadataConflict

type Props = {
  /** As the settings are now. */
  readonly theirs: Metadata
  /** The body of the write that was refused. */
  readonly mine: Values
  readonly onTakeTheirs: () => void
}

/** Somebody else has changed the settings since the form was opened. It keeps what was typed; the next save replaces theirs. */
export const MetadataConflict = ({ theirs, mine, onTakeTheirs }: Props) => (
  <section className="note" aria-label={text.title}>
    <p role="status">
      {visible(text.by(theirs.last_updated_by.actor))} <Time at={theirs.updated_time} />. {text.nothingLost}
    </p>
    <ChangedFields before={settingsOf(theirs)} after={mine} labels={text} />
    <div className="actions">
      <Button onPress={onTakeTheirs}>{text.takeTheirs}</Button>
    </div>
  </section>
)

const settingsOf = ({
  max_versions,
  cas_required,
  delete_version_after,
  custom_metadata,
}: Metadata): Values => ({
  max_versions,
  cas_required,
  delete_version_after,
  custom_metadata: custom_metadata ?? {},
})
