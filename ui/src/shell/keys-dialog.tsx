import { useState } from 'react'
import { Dialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { Button } from '../components/button.tsx'
import { strings } from '../strings.ts'
import type { View } from '../views/views.ts'
import { areKeysOn, turnKeys, viewKeys } from './keys.ts'
import './keys.css'

const text = strings.keys

type Props = { readonly views: readonly View[]; readonly onClose: () => void }

/** The keys of the page, with a switch. */
export function KeysDialog({ views, onClose }: Props) {
  const [isOn, setOn] = useState(areKeysOn)
  const turn = (on: boolean) => {
    turnKeys(on)
    setOn(on)
  }
  return (
    <ModalOverlay isOpen isDismissable className="overlay" onOpenChange={onClose}>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{text.title}</Heading>
          <dl className="facts keys">
            <dt>
              <kbd>/</kbd>
            </dt>
            <dd>{text.filter}</dd>
            {views.map(({ name }) => (
              <div className="fact" key={name}>
                <dt>
                  <kbd>g</kbd> <kbd>{viewKeys[name]}</kbd>
                </dt>
                <dd>{strings.views[name]}</dd>
              </div>
            ))}
            <dt>
              <kbd>?</kbd>
            </dt>
            <dd>{text.list}</dd>
          </dl>
          <label className="check-field">
            <input type="checkbox" checked={isOn} onChange={({ target }) => turn(target.checked)} />
            {text.use}
          </label>
          <div className="dialog-actions">
            <Button autoFocus onPress={onClose}>
              {strings.close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
