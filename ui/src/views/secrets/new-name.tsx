import { type FormEvent, useState } from 'react'
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.secrets

type Props = { readonly kind: 'secret' | 'folder'; readonly mount: string; readonly folder: string }

/** Asks for the name of a new secret or folder, and goes there. A folder is there once it has a secret. */
export function NewName({ kind, mount, folder }: Props) {
  const go = useGo()
  const [name, setName] = useState('')
  const [isOpen, setOpen] = useState(false)
  const says = text.newOnes[kind]
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const typed = name.trim().replace(/^\/+|\/+$/g, '')
    if (typed === '') return
    setOpen(false)
    go({ view: 'secrets', parts: [mount, `${folder}${typed}${kind === 'folder' ? '/' : ''}`] })
  }
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button kind={kind === 'secret' ? 'primary' : 'plain'}>{says.title}</Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog className="dialog">
            <Heading slot="title">{says.title}</Heading>
            <form className="stack" onSubmit={submit} autoComplete="off">
              <Field
                label={text.name}
                hint={says.hint(`${mount}${folder}`)}
                isRequired
                autoFocus
                mono
                value={name}
                onChange={setName}
              />
              <div className="dialog-actions">
                <Button slot="close">{strings.cancel}</Button>
                <Button kind="primary" type="submit">
                  {says.action}
                </Button>
              </div>
            </form>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  )
}
