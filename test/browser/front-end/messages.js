// A front end of another origin, as small as it can be: it shows the messages of a server, polls when something is to change, and signs a user in.
const asked = new URLSearchParams(location.search)
const server = asked.get('server')
const namespace = asked.get('namespace')
const shownBy = { unauthenticated: undefined, authenticated: undefined }
let token
let timer

const common = () => ({
  ...(namespace === null ? {} : { 'X-Vault-Namespace': namespace }),
  ...(token === undefined ? {} : { 'X-Vault-Token': token }),
})
const at = (path) => `${server}/v1/sys/internal/ui/${path}`
const plain = (base64) =>
  new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))

function element(name, text, ...children) {
  const made = document.createElement(name)
  made.textContent = text
  made.append(...children)
  return made
}

function linkOf([label, href]) {
  if (!/^(?:https?:|mailto:|\/(?!\/))/i.test(href)) return element('span', label)
  const link = element('a', label)
  link.href = href
  link.rel = 'noopener noreferrer'
  return link
}

async function confirmed(id, box) {
  const answer = await fetch(at(`authenticated-messages/${id}/ack`), { method: 'POST', headers: common() })
  if (answer.ok) box.remove()
}

function boxOf(id, { title, message, type, link, dismissible = true, acknowledge_required: mustConfirm }) {
  const box = element(
    type === 'modal' ? 'dialog' : 'article',
    '',
    element('h2', title),
    element('p', plain(message)),
  )
  box.append(...Object.entries(link ?? {}).map(linkOf))
  if (type === 'modal') {
    const button = element('button', 'Confirm')
    button.addEventListener('click', () => (mustConfirm ? confirmed(id, box) : box.remove()))
    box.append(button)
  } else if (dismissible) {
    const button = element('button', 'Close')
    button.addEventListener('click', () => box.remove())
    box.append(button)
  }
  return box
}

function show() {
  const entries = Object.values(shownBy).flatMap((shown) =>
    (shown?.data.keys ?? []).map((id) => [id, shown.data.key_info[id]]),
  )
  for (const [place, type] of [
    ['banners', 'banner'],
    ['modals', 'modal'],
  ]) {
    document
      .getElementById(place)
      .replaceChildren(
        ...entries.filter(([, entry]) => entry.type === type).map(([id, entry]) => boxOf(id, entry)),
      )
  }
  // the one shown last lies on top, and the first is to be read first
  for (const dialog of [...document.querySelectorAll('dialog')].reverse()) dialog.showModal()
}

/** When it is to be asked again: undefined when nothing is known to change. */
async function poll(kind) {
  const known = shownBy[kind]
  const headers = { ...common(), ...(known === undefined ? {} : { 'If-None-Match': known.etag }) }
  const answer = await fetch(at(`${kind}-messages`), { headers })
  if (answer.status === 200) {
    shownBy[kind] = { etag: answer.headers.get('ETag'), data: (await answer.json()).data }
    show()
  }
  const nextChange = answer.headers.get('X-Next-Change-At')
  return { status: answer.status, next: nextChange === null ? undefined : Date.parse(nextChange) }
}

async function refresh() {
  clearTimeout(timer)
  const kinds = token === undefined ? ['unauthenticated'] : ['unauthenticated', 'authenticated']
  const polls = await Promise.allSettled(kinds.map(poll))
  // whatever goes wrong with messages, the rest of the page does not mind
  document.body.dataset.polled = polls.map(({ value }) => value?.status ?? 'failed').join()
  const next = Math.min(...polls.flatMap(({ value }) => value?.next ?? []))
  if (Number.isFinite(next)) timer = setTimeout(refresh, Math.min(next - Date.now() + 1, 0x7fffffff))
}

document.getElementById('login').addEventListener('submit', async (event) => {
  event.preventDefault()
  const entered = new FormData(event.target).get('token')
  const answer = await fetch('/login', { method: 'POST', body: entered })
  document.getElementById('who').textContent = await answer.text()
  if (!answer.ok) return
  token = entered
  await refresh()
})
globalThis.refresh = refresh
await refresh()
