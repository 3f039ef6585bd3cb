import { useQueryClient } from '@tanstack/react-query'
import { type FullMessage, listAcknowledgements, messagesPath, readMessage } from '../../api/message-admin.ts'
import { shownMessage } from '../../api/messages.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { GroupLinks, People } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { Acknowledgements } from './acknowledgements.tsx'
import type { Shown } from './draft.ts'
import { ShownState, stateOf } from './list.tsx'
import { endMessages, type Stored, sideOf, storedOnes } from './pair.ts'
import { Preview } from './preview.tsx'
import { useRights, useStored } from './use-stored.ts'

const text = strings.announcements

export function Details({ id }: { readonly id: string }) {
  const { data, error } = useStored(id)
  if (error !== null) return <Failure error={error} />
  return data === undefined ? null : <Loaded id={id} stored={data} />
}

function Loaded({ id, stored }: { readonly id: string; readonly stored: Stored }) {
  const client = useQueryClient()
  const go = useGo()
  const rights = useRights(stored)
  const acks = `${messagesPath}/${stored.after?.id ?? id}/acks`
  const { can } = useCapabilities([acks])
  const messages = storedOnes(stored)
  const [message] = messages
  if (message === undefined) return null
  const remove = async () => {
    await endMessages(stored)
    go({ view: 'messages' })
    await client.invalidateQueries({ queryKey: ['messages'] })
  }
  return (
    <>
      <ViewHeader
        title={message.title || text.untitled}
        requests={[
          ...messages.map((one) => readMessage.request({ params: { id: one.id } })),
          listAcknowledgements.request({ params: { id: stored.after?.id ?? id } }),
        ]}
      >
        {rights.mayUpdate && (
          <PlaceLink view="messages" parts={[id, 'edit']} className="button">
            {text.edit}
          </PlaceLink>
        )}
        {rights.mayDelete && (
          <Confirm
            label={text.remove}
            action={text.remove}
            question={text.removeQuestion(message.title)}
            onConfirmed={remove}
          >
            <p>{text.removeHint}</p>
          </Confirm>
        )}
      </ViewHeader>
      <div className="beside">
        <section className="panel" aria-label={text.details}>
          <Facts
            message={stored.after ?? message}
            shown={messages.length > 1 ? 'everybody' : sideOf(message)}
          />
          {/* of two that belong together, one alone must not go back */}
          {messages.length === 1 && <ObjectHistory path={`${messagesPath}/${id}`} />}
        </section>
        <div className="stack">
          {messages.map((one) => (
            <Preview key={one.id} side={sideOf(one)} message={shownMessage(one.id, one)} />
          ))}
          {stored.after?.acknowledge_required === true && can(acks, 'list') && (
            <Acknowledgements id={stored.after.id} audience={stored.after.audience} />
          )}
        </div>
      </div>
    </>
  )
}

const Facts = ({ message, shown }: { readonly message: FullMessage; readonly shown: Shown }) => (
  <dl className="facts">
    <dt>{text.state}</dt>
    <dd>
      <ShownState state={stateOf(message)} />
    </dd>
    <dt>{text.kind}</dt>
    <dd>{text.kindOf(message.type, shown)}</dd>
    <dt>{text.starts}</dt>
    <dd>
      <Time at={message.start_time} />
    </dd>
    <dt>{text.ends}</dt>
    <dd>{message.end_time === null ? text.never : <Time at={message.end_time} />}</dd>
    {message.effect !== undefined && (
      <>
        <dt>{text.effect}</dt>
        <dd>{text.effects[message.effect]}</dd>
      </>
    )}
    {message.schedule !== undefined && (
      <>
        <dt>{text.schedule}</dt>
        <dd>
          <code>{message.schedule.cron}</code> ({message.schedule.time_zone}),{' '}
          {shortDuration(message.schedule.duration)}
        </dd>
      </>
    )}
    <dt>{text.severity}</dt>
    <dd>{strings.messages.severity[message.severity ?? 'info']}</dd>
    <dt>{text.priority}</dt>
    <dd>{message.priority ?? 0}</dd>
    {Object.entries(message.audience ?? {}).map(([name, values]) => (
      <div key={name} className="facts-row">
        <dt>{text.audiences[name] ?? name}</dt>
        <dd>
          {name === 'entity_ids' ? (
            <People ids={values} />
          ) : name === 'group_ids' ? (
            <GroupLinks ids={values} />
          ) : (
            values.join(', ')
          )}
        </dd>
      </div>
    ))}
  </dl>
)
