"""From image files and texts to rows of numbers.

Each extractor is a scikit-learn transformer: ``fit`` where there is something to learn, ``transform`` from paths,
arrays or texts to one row each. Rows are kept on disk where a ``cache`` folder is named.
"""

from .._download import FetchError as FetchError
from .backbone import Backbone as Backbone
from .extractor import Extracted as Extracted
from .extractor import Unreadable as Unreadable
from .extractor import UnreadableItems as UnreadableItems
from .folders import FolderItems as FolderItems
from .folders import find_items as find_items
from .image_input import CLIP as CLIP
from .image_input import IMAGENET as IMAGENET
from .image_input import PLUS_MINUS_ONE as PLUS_MINUS_ONE
from .image_input import ImageInput as ImageInput
from .images import read_image as read_image
from .mobilenet import MobileNetV2Features as MobileNetV2Features
from .sentence_cnn import SentenceCNN as SentenceCNN
from .sentence_features import SentenceFeatures as SentenceFeatures
from .sentence_features import sentence_features as sentence_features
from .sift import SIFTBag as SIFTBag
from .text_input import TextInput as TextInput
from .tokens import tokenize as tokenize
from .tokens import vocabulary_of as vocabulary_of
from .vgg19 import VGG19Features as VGG19Features
from .word_vectors import WordVectors as WordVectors
from .word_vectors import load_word_vectors as load_word_vectors
