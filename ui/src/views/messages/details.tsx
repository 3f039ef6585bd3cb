import { useQuery, useQueryClient } from '@tanstack/react-query'
import {
  deleteMessage,
  type FullMessage,
  listAcknowledgements,
  messagesPath,
  readMessage,
} from '../../api/message-admin.ts'
import { shownMessage } from '../../api/messages.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { Acknowledgements } from './acknowledgements.tsx'
import { stateOf } from './list.tsx'
import { Preview } from './preview.tsx'

const text = strings.announcements

type Props = { readonly id: string; readonly mayUpdate: boolean; readonly mayDelete: boolean }

export function Details({ id, mayUpdate, mayDelete }: Props) {
  const { data, error } = useQuery({
    queryKey: ['message', id],
    queryFn: ({ signal }) => readMessage({ params: { id } }, { signal }),
  })
  const client = useQueryClient()
  const go = useGo()
  const acks = `${messagesPath}/${id}/acks`
  const { can } = useCapabilities([acks])
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const message = data.data
  const remove = async () => {
    await deleteMessage({ params: { id } })
    go({ view: 'messages' })
    await client.invalidateQueries({ queryKey: ['messages'] })
  }
  return (
    <>
      <ViewHeader
        title={message.title || text.untitled}
        requests={[readMessage.request({ params: { id } }), listAcknowledgements.request({ params: { id } })]}
      >
        {mayUpdate && (
          <PlaceLink view="messages" parts={[id, 'edit']} className="button">
            {text.edit}
          </PlaceLink>
        )}
        {mayDelete && (
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
          <Facts message={message} />
        </section>
        <div className="stack">
          <Preview message={shownMessage(id, message)} />
          {message.acknowledge_required === true && can(acks, 'list') && (
            <Acknowledgements id={id} audience={message.audience} />
          )}
        </div>
      </div>
    </>
  )
}

const Facts = ({ message }: { readonly message: FullMessage }) => (
  <dl className="facts">
    <dt>{text.state}</dt>
    <dd>
      <span className={`state ${stateOf(message)}`}>{text.states[stateOf(message)]}</span>
    </dd>
    <dt>{text.kind}</dt>
    <dd>{text.kindOf(message.type, message.authenticated)}</dd>
    <dt>{text.starts}</dt>
    <dd>
      <Time at={message.start_time} />
    </dd>
    <dt>{text.ends}</dt>
    <dd>{message.end_time === null ? text.never : <Time at={message.end_time} />}</dd>
    <dt>{text.severity}</dt>
    <dd>{strings.messages.severity[message.severity ?? 'info']}</dd>
    <dt>{text.priority}</dt>
    <dd>{message.priority ?? 0}</dd>
    {Object.entries(message.audience ?? {}).map(([name, values]) => (
      <div key={name} className="facts-row">
        <dt className="mono">{name}</dt>
        <dd>{values.join(', ')}</dd>
      </div>
    ))}
  </dl>
)
